import json

import pytest

from echelon._utils.escapes import inert_cell, markdown_cell
from echelon._utils.frames import aligned
from echelon._utils.messages import printable


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202ename", "a\nb", "\x85", "\U000e0041", "\r\x7f"])
def test_what_acts_on_a_terminal_is_written_out_as_in_json(text):
    shown = printable(text)
    assert shown.isprintable()
    assert json.loads(f'"{shown}"') == text


def test_letters_of_all_languages_stay():
    for text in ("größer", "می\u200cخواهم", "क्\u200dष", "👩\u200d🔬", "高い"):
        assert printable(text) == text


def test_lone_surrogates_of_file_names_can_be_printed():
    assert printable("caf\udce9").encode() == b"caf\\udce9"


def test_a_cell_cannot_begin_a_line_of_a_table():
    assert len(aligned([["name", "n"], ["a\nModel  other", "1"]])) == 2


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|'/C x'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1"]
)
def test_formulas_are_marked_as_texts(text):
    assert inert_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1", "+2.5e-3", "-.5", "a=b", "", "-", "=", "1-2"])
def test_numbers_and_other_texts_stay(text):
    assert inert_cell(text) == text


def test_markdown_has_no_markup_of_others():
    assert markdown_cell("a|b\n<img src=x> [l](u)") == r"a\|b &lt;img src=x&gt; \[l\](u)"
