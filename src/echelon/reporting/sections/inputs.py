"""What the model makes of its inputs: importance, effects, rules, single rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...inspection import Effect, explain_rows, word_effects
from ...inspection.raw_rules import raw_rules
from ...ordinal.labels import counted_from
from ...plots import EffectDisplay, ImportanceDisplay
from ...rules.explanations import by_importance
from ..content import (
    Column,
    Figure,
    Figures,
    RowCard,
    RowCards,
    Section,
    Sentences,
    Term,
    Text,
    count,
    figure_cell,
    number,
    percent,
    shown,
    table,
)
from ..pictures import WIDTH, draw
from ..rows import MOST_ROWS
from ..study import BULK, Study

_MOST_INPUTS, _MOST_RULES = 15, 12
_MOST_WRONG, _MOST_CLASSES, _MOST_TERMS, _MOST_WORDS = 3, 6, 6, 12
#: terms below this share of the largest are not shown
_SLIGHT = 0.02


def importance(study: Study) -> Section | None:
    """Rise of the mean cost when a column is shuffled."""
    found = study.importance
    order = found.order
    display = ImportanceDisplay(found, most=_MOST_INPUTS)
    top = max(float(found.mean.max()), 1e-12)
    rows = [
        [
            found.features[j],
            figure_cell(found.mean[j], 4, share=float(min(max(found.mean[j] / top, 0.0), 1.0))),
            figure_cell(found.sd[j], 4),
        ]
        for j in order
    ]
    columns = [
        "Column",
        Column("Rise", about="rise of the mean cost", sorted="descending"),
        Column("s.d.", about="standard deviation over the shuffles"),
    ]
    figure = draw(
        "figure-importance",
        "Rise of the mean cost when a column is shuffled",
        f"{found.features[order[0]]} comes first.",
        display,
        size=(WIDTH, display.size[1]),
        numbers=table("Every column, the most important first", columns, rows, sortable=True),
    )
    first = found.features[order[0]]
    useful = int(np.sum(found.mean > 2.0 * np.nan_to_num(found.sd) + 1e-12))
    lead = f"Shuffling no column raises the mean cost ({study.settings.cost_words})."
    if found.mean[order[0]] > 0:
        lead = (
            f"The mean cost ({study.settings.cost_words}) rises most when {first} is shuffled, by "
            f"{number(found.mean[order[0]])}. For {useful} of {count(len(order), 'column')} the "
            "rise exceeds two standard deviations over the shuffles. A column that others can "
            "stand in for may matter more than it seems here."
        )
    return Section("importance", "Importance", lead, [Figures([figure])])


def effects(study: Study) -> Section | None:
    """Partial dependence on those of the most important columns that have more than one value."""
    found = study.effects
    if not found:
        return None
    reach = np.concatenate([_reach(effect) for effect in found])
    # A change of less than a tenth of a rank should look small.
    room = max(float(np.ptp(reach)), 0.1)
    middle = float(reach.min() + reach.max()) / 2
    heights = middle - room / 2, middle + room / 2
    widest = max(found, key=lambda effect: effect.span)
    unit = "ranks" if widest.unit == "ranks" else "units of the score"
    largest = f"the largest change is {number(widest.span, 2)} {unit}, with {widest.feature}"
    lead = (
        "How the mean prediction changes with one input while the others stay as they are, over "
        f"the central {percent(BULK)} of its values; "
        f"{largest if widest.span >= 0.005 else 'here it does not'}. All pictures have one "
        f"vertical scale{_weighted(study)}."
    )
    figures = Figures([_effect(place, effect, heights) for place, effect in enumerate(found)])
    return Section("effects", "Feature effects", lead, [figures, Text(_bands(study, found))])


def _reach(effect: Effect) -> Any:
    """Both ends of the interval at every value."""
    error = 0.0 if effect.error is None else 2.0 * effect.error
    return np.concatenate([effect.expected_rank - error, effect.expected_rank + error])


def _weighted(study: Study) -> str:
    return "" if study.rows.design.weights is None else ", and rows count by their weights"


def _bands(study: Study, found: list[Effect]) -> str:
    """What the intervals around effects are, or why there are none."""
    if found[0].error is not None:
        parts = "parts of the rows" if study.rows.design.groups is None else "parts of the groups"
        return (
            f"Bands are two standard errors to each side by the jackknife: the model was fitted "
            f"again without each of {len(study.replicates)} {parts}. They tell how much a curve "
            "depends on the rows at hand, not whether an input is a cause."
        )
    if study.is_prefit:
        return "There are no intervals, because the model is judged as it is and not fitted again."
    if found[0].unit != "ranks":
        return "There are no intervals, because scores of models fitted apart have no common unit."
    why = "fitting the model again and again would take long"
    return f"There are no intervals, because {why if study.is_slow else 'there are too few rows'}."


def _effect(place: int, effect: Effect, heights: tuple[float, float]) -> Figure:
    words = [shown(value) for value in effect.values]
    drawn = replace(effect, values=words) if effect.kind == "category" else effect
    first, name = counted_from(effect.classes) if effect.unit == "ranks" else (0, "mean score")
    title = f"{name[0].upper()}{name[1:]}"
    values = first + effect.expected_rank
    columns = [effect.feature, title]
    cells = [words, [figure_cell(value) for value in values.tolist()]]
    if effect.error is not None:
        columns.append("s.e.")
        cells.append([figure_cell(error) for error in effect.error.tolist()])
    return draw(
        f"figure-effect-{place}",
        effect.feature,
        f"{title} from {number(float(min(values)), 2)} to {number(float(max(values)), 2)} as "
        f"{effect.feature} changes.",
        EffectDisplay(drawn, heights=heights),
        size=(WIDTH, 2.4),
        numbers=table(f"{title} by {effect.feature}", columns, list(zip(*cells, strict=True))),
    )


def words(study: Study) -> Section | None:
    """The words of texts that raise and lower predictions most."""
    found = word_effects(
        study.model,
        study.rows.inputs(study.settings.sample(np.arange(len(study.rows)), MOST_ROWS)),
        n_terms=_MOST_WORDS,
        random_state=study.settings.random_state,
        classes=study.rows.classes,
    )
    if not found:
        return None
    unit = "ranks" if found[0].unit == "ranks" else "units of the score"
    columns = [
        Column("Words", number=False),
        Column("Change", about=f"{unit}, beside the same texts without them"),
        Column("Texts", about="with these words, of those looked at"),
    ]
    parts = []
    for name in dict.fromkeys(effect.column for effect in found):
        own = [effect for effect in found if effect.column == name]
        sides = (
            ("raise", [e for e in own if e.change > 0]),
            ("lower", [e for e in own if e.change < 0][::-1]),
        )
        for side, effects in sides:
            rows = [[e.term, figure_cell(e.change, 2), e.rows] for e in effects]
            if rows:
                title = f"Words of {name} that {side} the prediction"
                parts.append(table(title, columns, rows, sortable=True))
    most = max(found, key=lambda effect: abs(effect.change))
    lead = (
        f"How the prediction changes by a word, found by leaving it out of texts that have it: "
        f"“{most.term}” in {most.column} {'raises' if most.change > 0 else 'lowers'} it by "
        f"{number(abs(most.change), 2)} {unit} on average."
    )
    return Section("words", "Words", lead, parts)


def rules(study: Study) -> Section | None:
    """The most important rules in sentences."""
    inputs = study.response.table(study.rows.X)
    words = raw_rules(study.model, study.response.classes, inputs)
    if words is None or not words.last.rules_:
        return None
    ordered = by_importance(words.last.rules_)
    total = sum(rule.importance for rule in ordered) or 1.0
    items = [
        (
            f"If {rule.text()}, {rule.effect}.",
            f"covers {percent(rule.coverage, 1)} of rows, "
            f"{percent(rule.importance / total, 1)} of all importance",
        )
        for rule in map(words.retold, ordered[:_MOST_RULES])
    ]
    lead = (
        f"The {len(items)} most important of {count(len(ordered), 'rule')}: a row's score is the "
        "sum of what the rules it satisfies add."
    )
    return Section("rules", "Rules", lead, [Sentences(items)])


def rows(study: Study) -> Section | None:
    """Explanations of the worst predictions and of a typical row of each class."""
    wrong, typical = _most_wrong(study), _most_typical(study)
    chosen = [*wrong, *typical]
    if not chosen:
        return None
    found = explain_rows(
        study.trial.model,
        study.rows.inputs(np.asarray(chosen)),
        study.rows.inputs(_background(study)),
        n_draws=200,
        random_state=study.settings.random_state,
        classes=study.rows.classes,
        kinds=study.rows.kinds,
    )
    cards = [_card(study, i, why) for i, why in zip(chosen, found, strict=True)]
    parts = []
    if wrong:
        parts.append(RowCards(cards[: len(wrong)], "Most wrong"))
    if typical:
        parts.append(RowCards(cards[len(wrong) :], "Most typical of their class"))
    lead = (
        "What each input adds to a row's prediction beside the average row: orange raises it, blue "
        f"lowers it. Rows are counted from 1 and come from {study.trial.how}."
    )
    return Section("rows", "Single rows", lead, parts)


def _background(study: Study) -> Any:
    """Rows that others are compared with, drawn by their weights where they have any."""
    weights = study.rows.design.weights
    return study.settings.sample(np.arange(len(study.rows)), MOST_ROWS, weights)


def _surprise(study: Study) -> Any:
    """Rows of the trial, and how far off they are: cost, and how improbable the truth was."""
    held = study.trial_answers
    cost, p = study.cost_matrix[held.truth, held.codes], held.probabilities
    surprise = np.zeros(len(cost)) if p is None else 1.0 - p[np.arange(len(cost)), held.truth]
    return held.rows, cost, surprise


def _most_wrong(study: Study) -> list[int]:
    rows, cost, surprise = _surprise(study)
    order = np.lexsort((-surprise, -cost))
    return [int(rows[i]) for i in order[:_MOST_WRONG] if cost[i] > 0]


def _most_typical(study: Study) -> list[int]:
    """For some classes, the row of the class that is predicted right with most certainty."""
    rows, cost, surprise = _surprise(study)
    truth = study.rows.codes[rows]
    found = []
    for k in range(len(study.rows.labels)):
        own = np.flatnonzero((truth == k) & (cost == 0))
        if len(own):
            found.append(int(rows[own[np.argmin(surprise[own])]]))
    if len(found) <= _MOST_CLASSES:
        return found
    return [found[i] for i in np.linspace(0, len(found) - 1, _MOST_CLASSES).round().astype(int)]


def _card(study: Study, row: int, why: Any) -> RowCard:
    terms = sorted(why.terms, key=lambda term: -abs(term[2]))
    longest = max((abs(term[2]) for term in terms), default=0.0) or 1.0
    told = [
        Term(name, shown(value), number(amount, 2, signed=True), abs(amount) / longest, amount > 0)
        for name, value, amount in terms[:_MOST_TERMS]
        if abs(amount) > _SLIGHT * longest
    ]
    truth = study.rows.labels[study.rows.codes[row]]
    title = f"Row {row + 1:,}: true {truth}, predicted {why.prediction}"
    said = " ".join(filter(None, [why.sentence(0), why.words_sentence(2)]))
    return RowCard(title, said, told, why.rules[:3])
