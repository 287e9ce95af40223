"""Files of Stata and SPSS: numbers with labels of their values, read in parts by pyreadstat."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyreadstat

from ..ordinal.arrays import are_whole
from .blocks import TwoPassReader
from .column import level_text
from .faults import Argument, Sentence, TableError, columns_phrase, refuse_other_columns
from .schema import Schema
from .sources import Source
from .value_labels import Answers, answers_of, notes_on_answers, settled

_ROWS = 65_536
# The last has a public name since pyreadstat 1.3.4.
_ERRORS = (
    UnicodeError,
    pyreadstat.ReadstatError,
    getattr(pyreadstat, "PyreadstatError", pyreadstat.ReadstatError),
)
_MOST_CELLS = 1 << 20
_SPSS_DATES = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR", "YMDHMS")
_SPSS_EPOCH = np.datetime64("1582-10-14", "us")
_STATA_EPOCH = np.datetime64("1960-01-01", "us")
_MICROSECONDS = {"d": 86_400e6, "c": 1e3, "C": 1e3}
# From more distinct codes no one reads answers.
_MOST_CODES = 10_000


@dataclass
class _Variable:
    """What a file says of a column, and what is found in its rows."""

    label: str
    is_text: bool
    display: str
    has_labels: bool
    answers: Answers
    codes: set[Any] = field(default_factory=set)
    filled: bool = False
    whole: bool = True
    gaps: bool = False

    @property
    def is_coded(self) -> bool:
        return self.has_labels or self.answers.ordinal

    def look_at(self, column: Any) -> None:
        """Take the rows of a part into account."""
        self.gaps = self.gaps or bool(column.null_count)
        if not self.filled:
            held = pc.not_equal(column, "") if self.is_text else pc.is_valid(column)
            self.filled = bool(pc.any(held, min_count=0).as_py())
        if self.is_coded:
            column = column.unique().drop_null()
            if len(self.codes) <= _MOST_CODES:
                self.codes.update(column.to_pylist())
        if not self.is_text and self.whole:
            values = column.drop_null().to_numpy(zero_copy_only=False)
            # The first cells of measured numbers show it.
            self.whole = all(are_whole(part).all() for part in (values[:100], values[100:]))

    def kind(self) -> str:
        """Kind of the column, once all rows are known."""
        if self.is_coded:
            self.answers = settled(self.answers, self.codes, self.has_labels, self.whole)
            if self.answers.cover(self.codes):
                return "ordered" if self.answers.has_order else "category"
        if self.is_text:
            return "text"
        if self.is_date:
            return "date"
        gaps = self.gaps or any(code in self.answers.absent for code in self.codes)
        return "integer" if self.whole and not gaps else "number"

    @property
    def is_answered(self) -> bool:
        """Whether some row has a value."""
        return self.filled and not (self.codes and self.codes <= self.answers.absent.keys())

    @property
    def is_time(self) -> bool:
        """Whether numbers are times of day."""
        return self.display.startswith(("TIME", "DTIME", "MTIME", "%tcHH", "%tchh", "%tCHH"))

    @property
    def is_date(self) -> bool:
        """Whether numbers are dates."""
        spss = self.display.startswith(_SPSS_DATES)
        stata = self.display.startswith(("%td", "%d", "%tc", "%tC", "%-td", "%-tc"))
        return (spss or stata) and not self.is_time and not self.is_text

    def as_kind(self, column: Any, kind: str) -> Any:
        """Values as the kind that the column has, or is stated to have."""
        if kind in ("ordered", "category"):
            levels = self.answers.levels()
            places = {name: place for place, name in enumerate(levels)}
            codes = [*self.answers.names]
            found = pc.index_in(column, value_set=pa.array(codes, column.type))
            to_level = pa.array([places[name] for name in self.answers.names.values()], pa.int32())
            return pa.DictionaryArray.from_arrays(
                pc.take(to_level, found), pa.array(levels, pa.string()), ordered=kind == "ordered"
            )
        if kind == "labels":
            return self._labelled(column)
        if self.is_text:
            return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
        if self.is_date:
            return self._dates(column)
        if self.answers.absent:
            absent = pa.array(list(self.answers.absent), column.type)
            column = pc.if_else(pc.is_in(column, absent), pa.scalar(None, column.type), column)
        if self.is_time and self.display.startswith("%"):
            column = pc.divide(column.cast(pa.float64()), 1000.0)
        return column.cast(pa.int64() if kind == "integer" else pa.float64())

    def _labelled(self, column: Any) -> Any:
        """Names of codes where they have one, else the codes, as text."""
        encoded = column.dictionary_encode()
        names = [
            None
            if code in self.answers.absent or code == ""
            else self.answers.names.get(code, level_text(code))
            for code in encoded.dictionary.to_pylist()
        ]
        return pc.take(pa.array(names, pa.string()), encoded.indices)

    def _dates(self, column: Any) -> Any:
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        if self.display.startswith("%"):
            unit = _MICROSECONDS[next(c for c in self.display if c in _MICROSECONDS)]
            start = _STATA_EPOCH
        else:
            unit, start = 1e6, _SPSS_EPOCH
        absent = ~np.isfinite(values)
        steps = np.where(absent, 0.0, values * unit).round().astype("timedelta64[us]")
        return pa.array(np.where(absent, np.datetime64("NaT"), start + steps), pa.timestamp("us"))


class SurveyReader(TwoPassReader):
    """Files of Stata or SPSS with the same columns, one after the other, as pyarrow tables.

    A column of which all codes that occur have labels is a category of these; it is ordered where
    the file says so or the labels are a known scale. Other columns are numbers, dates or texts.

    Parameters
    ----------
    sources : sequence of Source
    format : {"dta", "sav", "por"}
    """

    def __init__(self, sources: Sequence[Source], format: str) -> None:
        super().__init__(sources[0])
        self._sources = sources
        self._format = format
        self._known: dict[str, _Variable] | None = None
        self._loaded: list[dict[str, Any]] | None = None
        self._kinds: dict[str, str] | None = None

    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._variables())

    def load(self) -> None:
        """Keep all rows, which are then read only once."""
        self._loaded = list(self._parts(None, whole=True))

    def kinds(self, target: str | None = None) -> dict[str, str]:
        """Kind of every column, by all rows; labels of the target have an order."""
        if self._kinds is None:
            self._kinds = self._found_kinds(target)
        ordered = self._kinds.get(str(target)) == "category"
        return {**self._kinds, str(target): "ordered"} if ordered else dict(self._kinds)

    def _found_kinds(self, target: str | None) -> dict[str, str]:
        variables = self._variables()
        for part in self._parts(None) if self._loaded is None else self._loaded:
            for name, column in part.items():
                variables[name].look_at(column)
        kinds = {name: variable.kind() for name, variable in variables.items()}
        self.unanswered = {name for name, v in variables.items() if not v.is_answered}
        named = ("ordered", "category")
        answers = {
            name: v.answers if kinds[name] in named else Answers({}, v.answers.absent)
            for name, v in variables.items()
        }
        self.notes += notes_on_answers(answers, {n: v.codes for n, v in variables.items()}, target)
        times = [name for name, v in variables.items() if v.is_time and not v.is_text]
        if times:
            words = columns_phrase(times)
            held = "holds times" if len(times) == 1 else "hold times"
            self.notes.append(
                Sentence(f"{words[0].upper()}{words[1:]} {held} of day, read as seconds.")
            )
        return kinds

    def kinds_by(
        self, kinds: Mapping[str, str], stated: Mapping[str, str], schema: Schema
    ) -> dict[str, str]:
        """Kinds by a schema: texts are names of codes where it knows these, else codes."""
        found = super().kinds_by(kinds, stated, schema)
        for column in schema.columns:
            variable = self._variables().get(column.name)
            if column.is_text and variable is not None:
                names = set(variable.answers.names.values())
                known = not column.levels or bool(names & set(column.levels))
                found[column.name] = "labels" if known or variable.is_text else "codes"
        return found

    def tables(
        self, kinds: Mapping[str, str], keep: Collection[str] | None = None
    ) -> Iterator[Any]:
        """The table in parts; categories are dictionaries of labels."""
        variables = self._variables()
        wanted = [name for name in variables if keep is None or name in keep]
        if self._loaded is not None:
            parts, self._loaded = iter(self._loaded), None
        else:
            parts = self._parts(wanted)
        for part in parts:
            columns = [variables[name].as_kind(part.pop(name), kinds[name]) for name in wanted]
            yield pa.table(columns, names=wanted)

    def _variables(self) -> dict[str, _Variable]:
        """What the first file says of its columns, which the others have to say too."""
        if self._known is not None:
            return self._known
        for source in self._sources:
            found = self._described(source)
            if self._known is None:
                self._known = found
            else:
                self._refuse_unlike(source, found)
        assert self._known is not None
        self.labels = {name: v.label for name, v in self._known.items() if v.label}
        self.numeric = {name for name, v in self._known.items() if not v.is_text}
        return self._known

    def _described(self, source: Source) -> dict[str, _Variable]:
        options = {} if self._format == "por" else {"user_missing": True}
        _, about = self._read(source, metadataonly=True, **options)
        if not about.column_names:
            raise TableError(f"{source.name} has no columns.")
        found = {}
        for name in about.column_names:
            labels = about.variable_value_labels.get(name, {})
            ordinal = about.variable_measure.get(name) == "ordinal"
            missing = about.missing_ranges.get(name, [])
            is_text = about.readstat_variable_types[name] == "string"
            answers = answers_of(labels, missing, ordinal, is_text)
            found[name] = _Variable(
                about.column_names_to_labels.get(name) or "",
                is_text,
                about.original_variable_types[name] or "",
                bool(answers.names or answers.absent),
                answers,
            )
        return found

    def _refuse_unlike(self, source: Source, found: Mapping[str, _Variable]) -> None:
        assert self._known is not None
        first_name = self._sources[0].name
        refuse_other_columns(source.name, list(found), first_name, list(self._known))
        for name, variable in found.items():
            first = self._known[name]
            if (variable.answers, variable.is_text) != (first.answers, first.is_text):
                raise TableError(
                    f"{source.name} has other labels or another type of column {name!r} than "
                    f"{first_name}; files that are read as one table must agree."
                )

    def _parts(self, wanted: Sequence[str] | None, whole: bool = False) -> Iterator[dict[str, Any]]:
        """Columns of all files, in parts of bounded size or file by file."""
        rows = 0 if whole else max(1, min(_ROWS, _MOST_CELLS // len(self._variables())))
        for source in self._sources:
            start = 0
            while True:
                options: dict[str, Any] = {} if wanted is None else {"usecols": list(wanted)}
                options |= {"row_offset": start, "row_limit": rows}
                found, _ = self._read(source, disable_datetime_conversion=True, **options)
                count = len(found)
                if count:
                    yield {name: self._array(name, found.pop(name)) for name in list(found)}
                start += count
                if whole or count < rows:
                    break

    def _array(self, name: str, values: Any) -> Any:
        type = pa.string() if self._variables()[name].is_text else pa.float64()
        return pa.Array.from_pandas(values, type=type)

    def _read(self, source: Source, **options: Any) -> Any:
        read = getattr(pyreadstat, f"read_{self._format}")
        if source.encoding is not None:
            options["encoding"] = source.encoding
        try:
            return read(str(source.plain_path()), **options)
        except _ERRORS as error:
            said = str(error).strip().rstrip(".")
            if isinstance(error, UnicodeError) or "encoding" in said:
                known = source.encoding or "the encoding that it states"
                raise TableError(
                    f"{source.name} has bytes that are not text in {known}; give ",
                    Argument("encoding", "cp1252"),
                    " or the encoding that it has.",
                ) from None
            raise TableError(
                f"{source.name} cannot be read as {self._format}, it may be damaged: {said}."
            ) from None
