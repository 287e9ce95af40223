"""Tables that users bring, read whole or in parts, and tables written for them."""

from .faults import TableError
from .formats import FORMATS
from .labelled import LabelledTable, labelled_table, read_labelled_table
from .labels import encode_target, parse_order
from .reading import read_chunks, read_table
from .schema import Column, Schema
from .writing import TableWriter

__all__ = [
    "FORMATS",
    "Column",
    "LabelledTable",
    "Schema",
    "TableError",
    "TableWriter",
    "encode_target",
    "labelled_table",
    "parse_order",
    "read_chunks",
    "read_labelled_table",
    "read_table",
]
