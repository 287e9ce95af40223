import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from echelon import OrdinalStack, ProportionalOdds, load_model, train
from echelon.metrics import mean_absolute_rank_error, ordinal_log_loss
from echelon.model_selection import Candidate, candidates, run_contest
from echelon.model_selection.contest import make_experiment
from echelon.model_selection.stack import STACK, board_candidate, stack_shares, with_stack
from echelon.ordinal.likelihoods import with_one_more_row
from echelon.solvers.linear.mixture import few_weights
from echelon.tables import labelled_table


def one_column(name, column, estimator=None):
    """A candidate that sees one column."""
    model = ProportionalOdds(alpha=1.0) if estimator is None else estimator
    return Candidate(
        name, make_pipeline(ColumnTransformer([("one", "passthrough", [column])]), model)
    )


def sides(n=240, seed=0):
    """Labels that two columns decide together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.digitize(X.sum(axis=1) + 0.3 * rng.normal(size=n), [-1.0, 0.0, 1.0])


LEFT, RIGHT = one_column("left", 0), one_column("right", 1)
BOTH = {"left": LEFT, "right": RIGHT}


def by_hand(board, fold, others):
    """Shares of left and right from some folds, and the mixture on one."""
    rows = [board.find(name) for name in BOTH]
    n = board.sizes[0]
    p = [
        np.concatenate(
            [
                with_one_more_row(f[2].astype(float), n)[np.arange(len(f[0])), board.truth[f[0]]]
                for f in (row.predictions[i] for i in others)
            ]
        )
        for row in rows
    ]
    weights = np.ones(240) if board.design.weights is None else board.design.weights
    counts = np.concatenate([weights[rows[0].predictions[i][0]] for i in others])
    shares = dict(zip(BOTH, few_weights(np.stack(p, axis=1), counts, 0.02).weights, strict=True))
    mixed = sum(shares[row.model] * row.predictions[fold][2].astype(float) for row in rows)
    return mixed / mixed.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_each_fold_is_measured_with_shares_from_the_other_folds_of_its_repeat(weighted):
    X, y = sides()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y)) if weighted else None
    board = run_contest(X, y, candidates=BOTH, folds=3, repeats=2, sample_weight=weights)
    assert board.best.model == STACK
    assert board.best.n_folds == board.planned == 6
    for fold, (rows, codes, p) in enumerate(board.best.predictions):
        start = fold // 3 * 3
        mixed = by_hand(board, fold, [f for f in range(start, start + 3) if f != fold])
        np.testing.assert_allclose(p, mixed, atol=1e-5)
        known = {"classes": range(4), "sample_weight": None if weights is None else weights[rows]}
        found = mean_absolute_rank_error(y[rows], codes, **known)
        assert board.best.folds["mae"][fold] == pytest.approx(found)
        n = len(y) - len(rows)
        found = ordinal_log_loss(y[rows], mixed, training_rows=n, **known)
        assert board.best.folds["log_loss"][fold] == pytest.approx(found, abs=1e-5)


def test_what_a_fold_says_has_no_part_in_its_own_shares():
    X, y = sides()
    experiment = make_experiment(X, y, BOTH, folds=3, repeats=1)
    board = run_contest(X, y, candidates=BOTH, folds=3, repeats=1)
    plain = replace(board, rows=tuple(row for row in board.rows if row.model != STACK))
    # The labels of the first fold's test rows are turned round.
    rows = board.best.predictions[0][0]
    truth = board.truth.copy()
    truth[rows] = 3 - truth[rows]
    turned = with_stack(replace(plain, truth=truth), experiment)
    first, second = (found.find(STACK).predictions for found in (board, turned))
    np.testing.assert_allclose(first[0][2], second[0][2])
    assert not np.allclose(first[1][2], second[1][2])


def test_with_times_shares_come_from_earlier_folds():
    X, y = sides()
    board = run_contest(X, y, candidates=BOTH, folds=4, time=np.arange(240))
    row = board.find(STACK)
    for fold, (rows, _, p) in enumerate(row.predictions):
        known = [board.find(name).predictions[fold][2].astype(float) for name in BOTH]
        mixed = by_hand(board, fold, range(fold)) if fold else sum(known) / 2.0
        np.testing.assert_allclose(p, mixed, atol=1e-5)
        assert (rows > 0).all()


def test_it_enters_only_if_it_wins():
    X, y = sides()
    best = Candidate("best", ProportionalOdds(alpha=1.0))
    board = run_contest(X, y, candidates={"left": LEFT, "best": best}, folds=3, repeats=1)
    assert [row.model for row in board.rows] == ["best", "left"]
    alone = run_contest(X, y, candidates={"left": LEFT}, folds=3, repeats=1)
    assert [row.model for row in alone.rows] == ["left"]


@pytest.mark.parametrize(("lead", "enters"), [(0.004, False), (0.006, True)])
def test_it_has_to_lead_by_half_a_per_cent(lead, enters):
    X, y = sides()
    experiment = make_experiment(X, y, BOTH, folds=3, repeats=1)
    found = run_contest(X, y, candidates=BOTH, folds=3, repeats=1)
    stack = found.find(STACK).folds["mae"]
    rows = [row for row in found.rows if row.model != STACK]
    best = replace(rows[0], folds=rows[0].folds | {"mae": stack / (1.0 - lead)})
    last = replace(rows[1], folds=rows[1].folds | {"mae": stack + 9.0})
    board = with_stack(replace(found, rows=(best, last)), experiment)
    assert (board.best.model == STACK) is enters


def test_models_without_all_folds_are_no_part_of_it():
    X, y = sides()
    experiment = make_experiment(X, y, BOTH, folds=3, repeats=1)
    board = run_contest(X, y, candidates=BOTH, folds=3, repeats=1)
    rows = [row for row in board.rows if row.model != STACK]
    short = replace(rows[0], predictions=rows[0].predictions[:2])
    fewer = with_stack(replace(board, rows=(short, rows[1])), experiment)
    assert fewer.find(STACK) is None
    assert stack_shares(fewer) == {}


NAMES = ("median label", "ProportionalOdds logit", "OrdinalReduction logistic", "RankRules")


@pytest.fixture(scope="module")
def table():
    X, y = sides(160)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["colour"] = ["red", "blue"] * 80
    frame["grade"] = y + 1
    return labelled_table(frame)


@pytest.fixture(scope="module")
def board(table):
    """A contest of models of the roster, with a row for their mixture whether it wins or not."""
    few = {name: candidates()[name] for name in NAMES}
    found = run_contest(table, candidates=few, folds=3, repeats=1)
    if found.find(STACK) is None:
        experiment = make_experiment(table, candidates=few, folds=3, repeats=1)
        worse = {key: values + 1.0 for key, values in found.best.folds.items()}
        slow = tuple(replace(row, folds=worse) for row in found.rows)
        made = with_stack(replace(found, rows=slow), experiment)
        found = replace(found, rows=(made.find(STACK), *found.rows))
    return found


def test_it_is_trained_saved_loaded_and_explained(table, board, tmp_path):
    shares = stack_shares(board)
    assert "median label" not in shares
    assert sum(shares.values()) == pytest.approx(1.0)
    model = train(table, STACK, leaderboard=board)
    stack = model.estimator["model"]
    assert isinstance(stack, OrdinalStack)
    assert stack.names_ == list(shares)
    assert model.extra["weights"] == pytest.approx(shares, abs=1e-4)
    assert model.metrics["mae"] == pytest.approx(board.find(STACK).mean("mae"))
    model.save(tmp_path / "stack.echelon")
    again = load_model(tmp_path / "stack.echelon")
    new = table.X.head(20)
    pd.testing.assert_frame_equal(again.predict_frame(new), model.predict_frame(new))
    P = sum(
        share * member.predict_proba(model.inputs(new))
        for share, member in zip(stack.weights_, stack.estimators_, strict=True)
    )
    np.testing.assert_allclose(model.estimator.predict_proba(model.inputs(new)), P)
    json.dumps(again.card())


def test_its_models_have_the_settings_that_were_chosen_most_often(table, board):
    found = board_candidate(board, STACK, table.schema, classes=table.classes)
    for name, member in found.estimator.estimators:
        chosen = board.find(name).usual_settings
        assert chosen.items() <= member.get_params().items()
    assert found.about.startswith("A mixture of the models' probabilities: ")


@pytest.mark.parametrize("given", [False, True])
def test_it_needs_a_contest(table, board, given):
    alone = replace(board, rows=board.rows[-1:]) if given else None
    with pytest.raises(ValueError, match="Stack is a mixture of the models of a contest; give"):
        train(table, STACK, leaderboard=alone)
