"""The metrics by kind, for tests that hold for all of them."""

import inspect

import numpy as np
import pytest

from echelon import metrics

ON_PROBABILITIES = ("ordinal_log_loss", "ranked_probability_score")
ON_SCORES = ("concordance_index",)
NOT_METRICS = (
    "FriedmanResult", "NemenyiResult", "OrdinalReport", "OrdinalScorer", "Summary", "average_ranks",
    "corrected_resampled_t_test", "cost_scorer", "friedman_test", "get_scorer",
    "nemenyi_critical_difference", "nemenyi_test", "scorer_names",
)  # fmt: skip
# These take scores and queries instead of labels on a scale, and have tests of their own.
OF_RANKINGS = tuple(metrics.ranking.__all__)
ON_LABELS = tuple(
    sorted({*metrics.__all__} - {*ON_PROBABILITIES, *ON_SCORES, *NOT_METRICS, *OF_RANKINGS})
)


class Case:
    """A metric and how to make its second argument from predicted codes."""

    def __init__(self, name):
        self.name = name
        self.metric = getattr(metrics, name)

    def __repr__(self):
        return self.name

    def response(self, codes, labels):
        """Predicted labels, scores or class probabilities that say the same as the codes."""
        if self.name in ON_PROBABILITIES:
            distance = np.abs(np.asarray(codes)[:, None] - np.arange(len(labels)))
            weights = 0.5**distance
            return weights / weights.sum(axis=1, keepdims=True)
        if self.name in ON_SCORES:
            return np.asarray(codes) * 0.3 - 1.0
        return np.asarray(labels)[codes]

    def value(self, *args, **kwargs):
        """The metric as an array: a number, or all numbers of the report."""
        result = self.metric(*args, **kwargs)
        if not isinstance(result, metrics.OrdinalReport):
            return np.array([result])
        numbers = [result.n, result.precision, result.recall, result.mean_absolute_error]
        numbers += [result.within_one, result.mean_signed_error]
        return np.concatenate([*numbers, np.array(list(result.totals.values()))])


def pytest_generate_tests(metafunc):
    kinds = {
        "any_case": (*ON_LABELS, *ON_PROBABILITIES, *ON_SCORES),
        "label_case": ON_LABELS,
        "number_case": (*(set(ON_LABELS) - {"ordinal_report"}), *ON_PROBABILITIES, *ON_SCORES),
        "probability_case": ON_PROBABILITIES,
    }
    for fixture, names in kinds.items():
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, [Case(name) for name in sorted(names)], ids=str)


@pytest.fixture
def all_metrics():
    names = {*ON_LABELS, *ON_PROBABILITIES, *ON_SCORES}
    assert all(inspect.isfunction(getattr(metrics, name)) for name in names)
    return names
