"""Tables that users bring, read whole or in parts, and tables written for them."""

from .column import Column
from .faults import TableError
from .formats import FORMATS
from .inspection import TableInspection, inspect
from .labelled import LabelledTable, labelled_table, read_labelled_table
from .labels import encode_target, parse_order
from .options import TableOptions
from .ranking import RankingTable, ranking_table, read_ranking_table
from .reading import read_chunks, read_table
from .row_marks import RowMarks
from .schema import Schema
from .writing import TableWriter

__all__ = [
    "FORMATS",
    "Column",
    "LabelledTable",
    "RankingTable",
    "RowMarks",
    "Schema",
    "TableError",
    "TableInspection",
    "TableOptions",
    "TableWriter",
    "encode_target",
    "inspect",
    "labelled_table",
    "parse_order",
    "ranking_table",
    "read_chunks",
    "read_labelled_table",
    "read_ranking_table",
    "read_table",
]
