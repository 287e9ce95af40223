"""Rules on ordered answers are told in their own levels."""

import numpy as np
import pandas as pd

from echelon import RankRules
from echelon.inspection.raw_rules import rule_sentences
from echelon.tables import labelled_table
from echelon.trained import train

ANSWERS = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]


def test_conditions_on_ordered_answers_name_their_levels():
    rng = np.random.default_rng(0)
    answer, x = rng.integers(0, 5, 200), rng.normal(size=200)
    y = np.digitize(answer + 0.3 * x, [1.5, 3.5])
    table = labelled_table(pd.DataFrame({"q": np.array(ANSWERS)[answer], "x": x, "y": y}))
    model = train(table, RankRules(8, max_conditions=1, random_state=0), evaluate=False)
    conditions = {s.split("If ")[1].split(",")[0] for s in rule_sentences(model)}
    on_answers = {text for text in conditions if text.startswith("q ")}
    assert on_answers and on_answers <= {
        *(f"q is at least {level}" for level in ANSWERS[1:]),
        *(f"q is at most {level}" for level in ANSWERS[:-1]),
        *(f"q is between {a} and {b}" for a in ANSWERS for b in ANSWERS),
    }
