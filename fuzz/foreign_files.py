"""Spreadsheets and files of Stata and SPSS, which native libraries of others parse."""

from __future__ import annotations

import signal
import zipfile
from pathlib import Path
from typing import Any

#: Formats whose library may end the process over a few bytes, as docs/reliability.md says.
MAY_DIE = (".sav", ".dta")
DEATHS = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL}

_CONTENT_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.spreadsheetml.worksheet+xml"/></Types>'
)
_RELATIONS = (
    '<?xml version="1.0"?><Relationships '
    'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}" '
    'Target="{target}"/></Relationships>'
)
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_WORKBOOK = (
    f'<?xml version="1.0"?><workbook xmlns="{_MAIN}" xmlns:r="http://schemas.openxmlformats.org/'
    'officeDocument/2006/relationships"><sheets><sheet name="rows" sheetId="1" r:id="rId1"/>'
    "</sheets></workbook>"
)


def write_all(rows: list[list[Any]], folder: Path) -> list[str]:
    """A table, its names first, as ``survey.xlsx``, ``survey.sav`` and ``survey.dta``."""
    import pandas as pd
    import pyreadstat

    frame = pd.DataFrame(rows[1:], columns=rows[0])
    _write_xlsx(rows, folder / "survey.xlsx")
    pyreadstat.write_sav(frame, str(folder / "survey.sav"))
    pyreadstat.write_dta(frame, str(folder / "survey.dta"))
    return ["survey.xlsx", "survey.sav", "survey.dta"]


def _write_xlsx(rows: list[list[Any]], path: Path) -> None:
    lines = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
    sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _CONTENT_TYPES)
        whole = _RELATIONS.format(kind="officeDocument", target="xl/workbook.xml")
        archive.writestr("_rels/.rels", whole)
        archive.writestr("xl/workbook.xml", _WORKBOOK)
        one = _RELATIONS.format(kind="worksheet", target="worksheets/sheet1.xml")
        archive.writestr("xl/_rels/workbook.xml.rels", one)
        archive.writestr("xl/worksheets/sheet1.xml", sheet)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value}</v></c>"
