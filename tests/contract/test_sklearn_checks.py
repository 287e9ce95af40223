"""scikit-learn's own checks, on every public estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.estimators import instances

from echelon import (
    GPOR,
    SVOR,
    AdaBoostOR,
    ConformalOrdinal,
    LinearRankSVM,
    OrdinalBagging,
    ORStump,
    RankRules,
    RankSVM,
    ThresholdedRanker,
)
from echelon.base.mixins import OrdinalClassifierMixin

ONE_MARGIN_PER_THRESHOLD = (
    "decision_function has a margin for each of the K-1 thresholds where the check expects K "
    "columns, and predict is the label of least expected cost where it expects the most probable; "
    "tests/contract/test_ordinal_contract.py holds the rest of these checks"
)
WEIGHTS_AND_REPEATS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
COPIES_IN_SEVERAL_FOLDS = (
    "probabilities come from folds, and copies of a row fall into several of them, where they are "
    "scored by machines that have seen the row"
)
COARSE = (
    "stops at its tolerance and the check compares to 1e-7; the instances with a small one run it"
)
DRAWN_ROWS = (
    "a bootstrap draws as many rows as there are, so a row of weight two is not two rows; the "
    "instances without one run the check"
)
DRAWN_CALIBRATION = (
    "a part of the rows is drawn to calibrate intervals, where a row of weight two is not two rows"
)
DRAWN_PART = (
    "the conditions of a rule are sought on a part of the rows drawn without replacement, where a "
    "row of weight two is not two rows; the instances that use all rows run the check"
)
DRAWN_LANDMARKS = (
    "the rows that span the scores are drawn, where a row of weight two is not two rows"
)
SEARCHED = (
    "hyperparameters are as exact as the search for them, and the check compares to 1e-7; "
    "tests/gaussian_process/test_gpor.py has it without a search"
)
UNEQUAL_VARIANCES = (
    "rows with one latent mean have other probabilities where the posterior variance is another"
)
SKIPPED_FOR_PROCESSES = {
    **dict.fromkeys(WEIGHTS_AND_REPEATS, SEARCHED),
    "check_decision_proba_consistency": UNEQUAL_VARIANCES,
}
LIGHT_CLASSES_AT_THE_ENDS = (
    "an exact stump cuts off the ends of a feature where it finds rows of the light classes alone, "
    "however light they are, and rows of the test part beyond get their rank; thresholds cut the "
    "ends of a score in the same way"
)


def expected_failures(estimator):
    failures = {}
    if isinstance(estimator, OrdinalClassifierMixin):
        failures |= dict.fromkeys(
            ["check_classifiers_train", "check_classifiers_classes"], ONE_MARGIN_PER_THRESHOLD
        )
    if isinstance(estimator, SVOR) and estimator.probability:
        failures |= dict.fromkeys(WEIGHTS_AND_REPEATS, COPIES_IN_SEVERAL_FOLDS)
    if isinstance(estimator, OrdinalBagging) and estimator.bootstrap:
        failures |= dict.fromkeys(WEIGHTS_AND_REPEATS, DRAWN_ROWS)
    if isinstance(estimator, ConformalOrdinal) and estimator.method == "split":
        failures |= dict.fromkeys(WEIGHTS_AND_REPEATS, DRAWN_CALIBRATION)
    if isinstance(estimator, RankRules) and estimator.subsample < 1.0:
        failures |= dict.fromkeys(WEIGHTS_AND_REPEATS, DRAWN_PART)
    if isinstance(estimator, RankSVM) and estimator.n_components is not None:
        failures |= dict.fromkeys(WEIGHTS_AND_REPEATS, DRAWN_LANDMARKS)
    stumps = isinstance(estimator, AdaBoostOR) and estimator.estimator is None
    if stumps or isinstance(estimator, (ORStump, ThresholdedRanker)):
        failures["check_class_weight_classifiers"] = LIGHT_CLASSES_AT_THE_ENDS
    return failures


def is_coarse(estimator):
    if isinstance(estimator, SVOR):
        return not estimator.probability and estimator.tol > 1e-6
    return isinstance(estimator, LinearRankSVM) and estimator.tol > 1e-10


# The checks feed text labels, tiny separable data and few iterations on purpose; with infinite
# labels scikit-learn's own type_of_target warns of a cast before anything is refused.
@pytest.mark.filterwarnings(
    "ignore::echelon.ordinal.labels.LabelOrderWarning",
    "ignore::echelon.meta.CoverageWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:invalid value encountered in cast:RuntimeWarning:sklearn",
)
@parametrize_with_checks(instances(), expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    if is_coarse(estimator) and check.func.__name__ in WEIGHTS_AND_REPEATS:
        pytest.skip(COARSE)
    if isinstance(estimator, GPOR) and check.func.__name__ in SKIPPED_FOR_PROCESSES:
        pytest.skip(SKIPPED_FOR_PROCESSES[check.func.__name__])
    if isinstance(estimator, GPOR):
        estimator.set_params(max_iter=3)  # a search takes most of the time and no check looks at it
    check(estimator)
