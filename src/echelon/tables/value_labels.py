"""What the codes of a survey's variable stand for: answers, their order, and no answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .column import level_text
from .faults import MISSING_MARKS, Argument, Sentence, columns_phrase, listed
from .scales import known_order

Code = float | str

# "-9. Refused" and "9 = DK": the label of an answer may begin with its code.
_NUMBERED = re.compile(r"\(?-?\d+\)?\s*[-–.:=)]\s*")
_NO_ANSWER = (
    r"(dk|na|n/a|rf|dk/rf|refus\w*|don['’]?t know|do not know|doesn['’]?t know|no answer|"
    r"not (applicable|ascertained|asked|available|reported)|inap\w*|missing)\b"
)
_NO_ANSWER_FIRST = re.compile(_NO_ANSWER, re.IGNORECASE)
# What labels of negative codes say; positive codes with such words may be answers.
_NO_ANSWER_ANYWHERE = re.compile(
    rf"\b{_NO_ANSWER}|technical error|restricted|\bno (pre|post)|break-?off|incomplete|skip|"
    r"undetermined|unknown|no data|deleted|interview|uncodeable|universe",
    re.IGNORECASE,
)
_MOST_UNNAMED = 11


@dataclass(frozen=True)
class Answers:
    """Answers of a variable by code.

    Parameters
    ----------
    names : dict of float or str to str
        Distinct names of the answers, in the order of their codes.
    absent : dict of float or str to str
        Codes that stand for no answer because their labels say so.
    ordinal : bool
        Whether the file states that the answers have an order.
    """

    names: dict[Code, str] = field(default_factory=dict)
    absent: dict[Code, str] = field(default_factory=dict)
    ordinal: bool = False

    def levels(self) -> list[str]:
        """Names from lowest to highest: that of a known scale, else that of the codes.

        A known scale may descend with the codes, whose order it then has.
        """
        by_code = list(self.names.values())
        known = known_order(by_code)
        return by_code if known is None or known == by_code[::-1] else known

    @property
    def has_order(self) -> bool:
        """Whether the file states an order, or the answers are a known scale in that of codes."""
        by_code = list(self.names.values())
        return self.ordinal or known_order(by_code) in (by_code, by_code[::-1])

    def cover(self, codes: Collection[Code]) -> bool:
        """Whether all codes that occur have a name, and some does."""
        answered = [code for code in codes if code not in self.absent]
        return bool(answered) and all(code in self.names for code in answered)


def answers_of(
    labels: Mapping[Any, str], missing: Sequence[Mapping[str, Any]], ordinal: bool, is_text: bool
) -> Answers:
    """Answers by the labels of a variable's codes.

    Parameters
    ----------
    labels : mapping
        Label of each code.
    missing : sequence of mapping
        Ranges of codes that the file states to be missing, from ``lo`` to ``hi``.
    ordinal : bool
        Whether the file states that the variable is ordinal.
    is_text : bool
        Whether the codes are texts.

    Examples
    --------
    >>> found = answers_of({-9: "Refused", 1: "never", 2: "often", 3: "always"}, [], False, False)
    >>> found.levels(), found.absent, found.has_order
    (['never', 'often', 'always'], {-9: 'Refused'}, True)
    """
    plain = {
        code: " ".join(label.split())
        for code, label in labels.items()
        # Letters among codes that are numbers are those of Stata's missing values.
        if isinstance(code, str) == is_text and str(label).strip()
    }
    plain = {code: label for code, label in plain.items() if not _is_stated(code, missing)}
    absent = {code: label for code, label in plain.items() if _says_none(code, label)}
    named = sorted(code for code in plain if code not in absent)
    return Answers(_distinct({code: plain[code] for code in named}), absent, ordinal)


def _is_stated(code: Any, missing: Sequence[Mapping[str, Any]]) -> bool:
    return any(
        type(code) is str and code == span["lo"]
        if isinstance(span["lo"], str) or isinstance(code, str)
        else span["lo"] <= code <= span["hi"]
        for span in missing
    )


def _says_none(code: Any, label: str) -> bool:
    said = _NUMBERED.sub("", label, count=1) or label
    if said in MISSING_MARKS and said.casefold() != "none":
        return True
    return not isinstance(code, str) and code < 0 and bool(_NO_ANSWER_ANYWHERE.search(said))


def _begins_as_none(label: str) -> bool:
    return bool(_NO_ANSWER_FIRST.match(_NUMBERED.sub("", label, count=1)))


def _distinct(names: Mapping[Code, str]) -> dict[Code, str]:
    """Names with their codes where they repeat, or would be read as missing values."""
    said = list(names.values())
    return {
        code: f"{name} ({level_text(code)})"
        if said.count(name) > 1 or name in MISSING_MARKS
        else name
        for code, name in names.items()
    }


def settled(answers: Answers, codes: Collection[Code], has_labels: bool, is_whole: bool) -> Answers:
    """Answers once all codes that occur are known.

    Labels such as "DK" of codes that never occur are no answers; a variable that is stated to be
    ordinal and has no labels at all has its codes as names.
    """
    if not has_labels and answers.ordinal and is_whole and 2 <= len(codes) <= _MOST_UNNAMED:
        return Answers({code: level_text(code) for code in sorted(codes)}, {}, True)
    names = {
        code: name
        for code, name in answers.names.items()
        if code in codes or not _begins_as_none(name)
    }
    return Answers(names, answers.absent, answers.ordinal)


def notes_on_answers(
    variables: Mapping[str, Answers], codes: Mapping[str, Any], target: str | None
) -> list[Sentence]:
    """What is said of codes that are read as missing values, or may have to be.

    Parameters
    ----------
    variables : mapping from str to Answers
    codes : mapping from str to collection
        Those that occur in each variable.
    target : str, optional
    """
    absent: dict[str, list[str]] = {}
    doubtful: dict[str, list[str]] = {}
    notes = []
    for name, answers in variables.items():
        occurring = codes[name]
        for code, label in answers.absent.items():
            if code in occurring:
                said = f"{level_text(code)} ({_NUMBERED.sub('', label, count=1)})"
                absent.setdefault(said, []).append(name)
        for code, label in answers.names.items():
            # A comma cannot be part of a value that the argument lists.
            if code in occurring and "," not in label and _begins_as_none(label):
                doubtful.setdefault(label, []).append(name)
        notes += _notes_on_order(name, answers, is_target=name == target)
    names = list(dict.fromkeys(name for columns in absent.values() for name in columns))
    if names:
        told = "Codes whose labels say that there is no answer are read as missing values"
        notes.append(Sentence(f"{told}: {listed(absent)}, in {columns_phrase(names, 5)}."))
    return [*notes, *(_note_on_doubt(label, columns) for label, columns in doubtful.items())]


def _notes_on_order(name: str, answers: Answers, is_target: bool) -> list[Sentence]:
    """What is said where words and codes differ, or where a target has the order of its codes."""
    levels, by_code = answers.levels(), list(answers.names.values())
    stated = "<".join(by_code)
    argument = Argument("order", stated) if is_target else Argument("ordered", f"{name}: {stated}")
    if levels != by_code and (answers.ordinal or is_target):
        return [
            Sentence(
                f"The answers of column {name!r} are ordered as their words say, "
                f"{' < '.join(levels)}, not as their codes, which would be ",
                argument,
                ".",
            )
        ]
    if not is_target or not levels or answers.has_order:
        return []
    return [
        Sentence(
            f"The labels of the target {name!r} have the order of their codes, "
            f"{' < '.join(levels)}; state another with ",
            Argument("order"),
            ".",
        )
    ]


def _note_on_doubt(label: str, columns: Sequence[str]) -> Sentence:
    phrase = columns_phrase(columns, 5)
    return Sentence(
        f"{phrase[0].upper()}{phrase[1:]} {'has' if len(columns) == 1 else 'have'} {label!r} among "
        "the answers; if that stands for a missing value, give ",
        Argument("missing", f"{', '.join(columns)}: {label}"),
        ".",
    )
