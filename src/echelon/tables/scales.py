"""Orders of answers that can be read off the answers: agreement, frequency, quality, ranges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# From lowest to highest; at one place of a scale, words for the same answer.
_SCALES = (
    (
        "strongly disagree|totally disagree|completely disagree|disagree strongly|fully disagree",
        "disagree|mostly disagree|generally disagree",
        "somewhat disagree|slightly disagree|rather disagree|tend to disagree|disagree somewhat",
        "neutral|neither agree nor disagree|neither|undecided|neither disagree nor agree",
        "somewhat agree|slightly agree|rather agree|tend to agree|agree somewhat",
        "agree|mostly agree|generally agree",
        "strongly agree|totally agree|completely agree|agree strongly|fully agree",
    ),
    (
        "very dissatisfied|extremely dissatisfied|very unsatisfied|completely dissatisfied",
        "dissatisfied|unsatisfied",
        "somewhat dissatisfied|slightly dissatisfied|rather dissatisfied",
        "neutral|neither satisfied nor dissatisfied|neither|neither dissatisfied nor satisfied",
        "somewhat satisfied|slightly satisfied|rather satisfied",
        "satisfied",
        "very satisfied|extremely satisfied|completely satisfied",
    ),
    (
        "never",
        "almost never|very rarely|hardly ever",
        "rarely|seldom",
        "sometimes|occasionally|now and then|some of the time",
        "often|frequently|about half the time",
        "usually|very often|most of the time|very frequently|almost always",
        "always|all of the time",
    ),
    (
        "terrible|awful",
        "very poor|very bad",
        "poor|bad",
        "fair|acceptable|average|ok|okay|neutral|regular|satisfactory",
        "good",
        "very good",
        "excellent|outstanding|superb",
    ),
    (
        "not at all|not",
        "hardly|hardly at all|very little",
        "a little|slightly|a little bit|not very|not very much|not too",
        "moderately|somewhat|to some extent|fairly",
        "quite|quite a bit|rather|a lot",
        "very|very much|a great deal",
        "extremely|completely|entirely",
    ),
    (
        "not at all important|not important|unimportant|very unimportant",
        "slightly important|a little important|not very important|not too important",
        "moderately important|somewhat important|fairly important|neutral",
        "important",
        "very important",
        "extremely important|essential",
    ),
    (
        "not at all interested|not interested",
        "slightly interested|not very interested|not too interested|not much interested",
        "moderately interested|somewhat interested|fairly interested",
        "interested",
        "very interested|very much interested",
        "extremely interested",
    ),
    (
        "extremely unlikely|very unlikely|highly unlikely",
        "unlikely",
        "somewhat unlikely|slightly unlikely",
        "neutral|neither likely nor unlikely|even chance",
        "somewhat likely|slightly likely",
        "likely",
        "very likely|highly likely|extremely likely",
    ),
    (
        "none|no|absent|not present",
        "minimal|trace|very mild",
        "mild|slight|minor",
        "moderate",
        "severe|marked|serious|major",
        "very severe|extreme|critical",
    ),
    (
        "none",
        "very low|lowest|extremely low",
        "low|lower",
        "medium|moderate|middle|average|mid",
        "high|higher",
        "very high|highest|extremely high",
    ),
    (
        "much worse",
        "worse|somewhat worse",
        "the same|same|no change|unchanged",
        "better|somewhat better",
        "much better",
    ),
    (
        "xxs",
        "xs|extra small|very small|tiny",
        "s|small",
        "m|medium",
        "l|large|big",
        "xl|extra large|very large|huge",
        "xxl",
        "xxxl",
    ),
    ("no", "maybe|perhaps|unsure", "yes"),
)
_PLACES = [
    {word: place for place, words in enumerate(scale) for word in words.split("|")}
    for scale in _SCALES
]
_FEWEST = 3
_NUMBER = r"[-+]?\d+(?:[.,]\d+)*"
# "1 - never", "2. rarely", "(3) often", "4: always" and "5 = best".
_NUMBERED = re.compile(r"\(?(-?\d+)\)?\s*(?:[-–—.:=)]|\s)\s*([^\d].*)")
_BELOW = re.compile(
    rf"(?:<|≤|<=|less than|under|below|up to|at most)\s*[$€£]?({_NUMBER})\D*", re.IGNORECASE
)
_ABOVE = re.compile(
    rf"(?:>|≥|>=|more than|over|above|at least)\s*[$€£]?({_NUMBER})\D*|[$€£]?({_NUMBER})\s*"
    r"(?:\+|or (?:more|older|over|above|higher))\D*",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"[$€£]?({_NUMBER})\s*(?:-|–|—|to|through|thru|\.\.)\s*[$€£]?{_NUMBER}[^\d]*")
_BRACKETS = re.compile(
    rf"[\[(]\s*({_NUMBER}|-?Inf)\s*[,;]\s*(?:{_NUMBER}|Inf|∞)\s*[\])]", re.IGNORECASE
)


def known_order(levels: Iterable[str]) -> list[str] | None:
    """The levels from lowest to highest where their words say it, else None.

    Parameters
    ----------
    levels : iterable of str
        Distinct answers; at least three of a known scale, of numbered ones or of ranges.

    Examples
    --------
    >>> known_order(["Agree", "Strongly disagree", "Neutral"])
    ['Strongly disagree', 'Neutral', 'Agree']
    >>> known_order(["65+", "18-24", "25-64"])
    ['18-24', '25-64', '65+']
    >>> known_order(["red", "green", "blue"]) is None
    True
    """
    found = list(levels)
    if len(found) < _FEWEST:
        return None
    for places in (_scale_places(found), _numbered_places(found), _range_places(found)):
        if places is not None and len(set(places)) == len(found):
            return [level for _, level in sorted(zip(places, found, strict=True))]
    return None


def _scale_places(levels: Sequence[str]) -> list[float] | None:
    plain = [_plain(level) for level in levels]
    for places in _PLACES:
        if all(word in places for word in plain):
            return [float(places[word]) for word in plain]
    return None


def _plain(level: str) -> str:
    return " ".join(level.casefold().replace("_", " ").replace("-", " ").split()).strip(" .!")


def _numbered_places(levels: Sequence[str]) -> list[float] | None:
    """Places by numbers before the words, if the words ascend or descend with them.

    Questionnaires number answers that have no order too.
    """
    found = [_NUMBERED.fullmatch(level.strip()) for level in levels]
    pairs = [(float(match[1]), match[2]) for match in found if match]
    words = [word for _, word in sorted(pairs)]
    order = known_order(words) if len(pairs) == len(levels) else None
    return [number for number, _ in pairs] if order in (words, words[::-1]) else None


def _range_places(levels: Sequence[str]) -> list[float] | None:
    """Places by lower ends; what is open below comes before its end, what is open above after."""
    places: list[float] = []
    for level in map(str.strip, levels):
        if _BELOW.fullmatch(level):
            places.append(float("-inf"))
        elif above := _ABOVE.fullmatch(level):
            places.append(_value(above[1] or above[2]))
        elif inner := _RANGE.fullmatch(level) or _BRACKETS.fullmatch(level):
            places.append(_value(inner[1]))
        else:
            return None
    return places


def _value(text: str) -> float:
    grouped = re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", text)
    try:
        return float(text.replace(",", "" if grouped else "."))
    except ValueError:
        return float("nan")
