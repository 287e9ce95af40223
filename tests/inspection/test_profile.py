"""Findings in tables, one by one."""

import numpy as np
import pandas as pd
import pytest

from echelon.inspection import profile_table


def clean(n=400, K=4, seed=0):
    """Continuous and nominal columns that say something of the label, and not too much."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    frame = pd.DataFrame(
        {
            "size": y + 2.0 * rng.normal(size=n),
            "colour": rng.choice(["red", "blue", "green"], n),
            "weight": rng.normal(size=n),
        }
    )
    return frame, y


def findings(frame, y, **options):
    return {
        (found.kind, found.columns): found for found in profile_table(frame, y, **options).warnings
    }


def only(frame, y, kind, columns=(), **options):
    """The one finding that there is."""
    found = findings(frame, y, **options)
    assert list(found) == [(kind, columns)], [one.text for one in found.values()]
    return found[kind, columns]


def test_a_clean_table_has_no_findings():
    frame, y = clean()
    profile = profile_table(frame, y, target="grade")
    assert profile.warnings == []
    assert profile.rows == 400
    assert profile.class_counts == {0: 100, 1: 100, 2: 100, 3: 100}
    size, colour, weight = profile.columns
    assert (size.kind, colour.kind) == ("number", "category")
    assert size.minimum == frame["size"].min() and size.maximum == frame["size"].max()
    assert size.mean == pytest.approx(frame["size"].mean())
    assert size.histogram[1].sum() == 400
    assert dict(colour.levels) == frame["colour"].value_counts().to_dict()
    assert size.concordance > 0.65
    assert abs(weight.concordance - 0.5) < 0.06
    assert "orders labels" in str(profile)


def test_tiny_and_empty_classes():
    frame, y = clean()
    y = np.where(np.arange(400) < 9, 4, y)
    found = only(frame, y, "tiny_class", classes=range(5))
    assert "9 rows have the label 4" in found.text and found.severity == "medium"
    y = np.where(np.arange(400) < 10, 4, y)
    assert not findings(frame, y, classes=range(5))
    frame, y = clean()
    assert only(frame, y, "empty_class", classes=range(5)).severity == "low"
    y[0] = 4
    found = only(frame, y, "tiny_class", classes=range(5))
    assert found.severity == "high" and "1 row has" in found.text


def test_heavy_imbalance():
    frame, _ = clean()
    y = (np.arange(400) % 10 == 0).astype(int)
    assert "90% of the rows have the label 0" in only(frame, y, "imbalance").text


@pytest.mark.parametrize("leak", ["copy", "noisy", "falling", "names", "shuffled"])
def test_a_column_that_gives_the_label_away(leak):
    frame, y = clean()
    rng = np.random.default_rng(1)
    frame["x"] = {
        "copy": y,
        "noisy": y + 0.3 * rng.random(400),
        "falling": -10.0 * y,
        "names": np.array(["w", "q", "a", "m"])[y],
        "shuffled": np.array([7, 2, 9, 4])[y],
    }[leak]
    assert only(frame, y, "leakage", ("x",)).severity == "high"


def test_a_good_column_is_no_leak():
    frame, y = clean()
    frame["good"] = y + 0.5 * np.random.default_rng(1).normal(size=400)
    profile = profile_table(frame, y)
    assert profile.warnings == []
    assert profile.columns[-1].concordance > 0.9


def test_many_random_levels_do_not_look_predictive():
    frame, y = clean()
    frame["code"] = np.random.default_rng(1).integers(0, 200, 400).astype(str)
    assert abs(profile_table(frame, y).columns[-1].concordance - 0.5) < 0.06


def test_names_that_contain_the_target_s():
    frame, y = clean()
    frame = frame.rename(columns={"weight": "Grade_mean"})
    assert only(frame, y, "target_name", ("Grade_mean",), target="grade").severity == "medium"


def test_duplicated_rows_with_equal_and_with_other_labels():
    frame, y = clean()
    frame.iloc[4] = frame.iloc[0]
    frame.iloc[8] = frame.iloc[0]
    assert "2 rows of 400 repeat" in only(frame, y, "duplicates").text
    frame, y = clean()
    frame.iloc[5] = frame.iloc[0]
    found = findings(frame, y)
    assert {kind for kind, _ in found} == {"duplicates", "conflicts"}
    assert "2 rows of 400 have the same inputs" in found["conflicts", ()].text


def test_rows_with_missing_values_can_repeat_too():
    frame, y = clean()
    frame.loc[[0, 4], "size"] = np.nan
    frame.loc[4, ["colour", "weight"]] = frame.loc[0, ["colour", "weight"]]
    assert "1 row of 400 repeat" in only(frame, y, "duplicates").text


def test_constant_and_mostly_missing_columns():
    frame, y = clean()
    frame["same"] = 3
    assert "one value only" in only(frame, y, "constant", ("same",)).text
    frame["same"] = None
    assert "no values only" in only(frame, y, "constant", ("same",)).text
    frame, y = clean()
    frame.loc[np.random.default_rng(0).random(400) < 0.6, "weight"] = np.nan
    found = only(frame, y, "mostly_missing", ("weight",))
    assert f"missing in {frame['weight'].isna().mean():.0%} of the rows" in found.text


def test_identifiers():
    frame, y = clean()
    frame["key"] = [f"k{number:04d}" for number in np.random.default_rng(0).permutation(400)]
    assert only(frame, y, "identifier", ("key",)).severity == "medium"
    frame["key"] = np.random.default_rng(0).permutation(400) + 1000
    only(frame, y, "identifier", ("key",))
    frame["key"] = np.random.default_rng(0).permutation(400) * 3
    assert not findings(frame, y)


def test_missingness_that_goes_with_the_label():
    frame, y = clean()
    rng = np.random.default_rng(0)
    frame.loc[rng.random(400) < np.where(y == 3, 0.5, 0.05), "weight"] = np.nan
    found = only(frame, y, "missing_predicts", ("weight",))
    assert "Whether column weight is missing goes with the label" in found.text
    frame, y = clean()
    frame.loc[rng.random(400) < 0.3, "weight"] = np.nan
    assert not findings(frame, y)


def test_findings_come_by_severity():
    frame, y = clean()
    frame["same"] = 1
    frame["copy"] = y
    severities = [found.severity for found in profile_table(frame, y).warnings]
    assert severities == ["high", "low"]


def test_arrays_and_other_libraries_are_read_alike():
    polars = pytest.importorskip("polars")
    frame, y = clean()
    frame.loc[3, "size"] = np.nan
    frame["ok"] = y > 1
    ours = profile_table(frame, y)
    theirs = profile_table(polars.from_pandas(frame), y)
    for a, b in zip(ours.columns, theirs.columns, strict=True):
        assert (a.name, a.kind, a.missing, a.distinct) == (b.name, b.kind, b.missing, b.distinct)
        assert a.concordance == b.concordance
    array = profile_table(frame[["size", "weight"]].to_numpy(), y)
    assert [column.name for column in array.columns] == ["x0", "x1"]
    assert array.columns[0].missing == 1


def test_dates_are_dates():
    frame, y = clean()
    frame["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(400) * 7 % 365, "D")
    frame.loc[2, "when"] = pd.NaT
    column = profile_table(frame, y).columns[-1]
    assert column.kind == "date" and column.missing == 1
    assert column.minimum == pd.Timestamp("2020-01-01")


def test_labels_and_rows_must_match():
    frame, y = clean()
    with pytest.raises(ValueError, match="y must have as many rows as X, 400; found 399"):
        profile_table(frame, y[1:])


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="X must have at least one row; found none"):
        profile_table(np.zeros((0, 2)), [], [1, 2])
