"""Small Excel files written by hand, also such as no program leaves behind."""

import zipfile
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
# Styles of cells: none, a date, a time of day.
_STYLES = (0, 14, 21)
_STATES = ("visible", "hidden")


class Raw(str):
    """The inside of a cell as XML has it, after its attributes: ``Raw('t="e"|<v>#REF!</v>')``."""


def date(days):
    return Raw(f's="1"|<v>{days}</v>')


def time(share):
    return Raw(f's="2"|<v>{share}</v>')


def formula(text):
    return Raw(f"|<f>{text}</f>")


def error(code):
    return Raw(f't="e"|<v>{code}</v>')


def write_xlsx(path, sheets, merged=(), hidden=()):
    """Write rows of each sheet by name; `merged` are areas of the first sheet."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{_TYPES}"/>')
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r" '
            f'Type="{_LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        entries = "".join(
            f'<sheet name="{name}" sheetId="{n}" r:id="r{n}" state="{_STATES[name in hidden]}"/>'
            for n, name in enumerate(sheets, 1)
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}"><sheets>{entries}</sheets></workbook>',
        )
        links = "".join(
            f'<Relationship Id="r{n}" Type="{_LINKS}/worksheet" Target="worksheets/sheet{n}.xml"/>'
            for n in range(1, len(sheets) + 1)
        )
        links += f'<Relationship Id="s" Type="{_LINKS}/styles" Target="styles.xml"/>'
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{_RELATIONS}">{links}</Relationships>',
        )
        formats = "".join(f'<xf numFmtId="{number}"/>' for number in _STYLES)
        archive.writestr(
            "xl/styles.xml",
            f'<styleSheet xmlns="{_MAIN}"><cellXfs>{formats}</cellXfs></styleSheet>',
        )
        for n, rows in enumerate(sheets.values(), 1):
            areas = "".join(f'<mergeCell ref="{area}"/>' for area in (merged if n == 1 else ()))
            body = "".join(_row(place, cells) for place, cells in enumerate(rows, 1))
            archive.writestr(
                f"xl/worksheets/sheet{n}.xml",
                f'<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData>'
                f"<mergeCells>{areas}</mergeCells></worksheet>",
            )
    return path


def _row(place, cells):
    inside = "".join(_cell(f"{chr(65 + column)}{place}", c) for column, c in enumerate(cells))
    return f'<row r="{place}">{inside}</row>'


def _cell(name, value):
    if value is None:
        return ""
    if isinstance(value, Raw):
        attributes, _, inside = value.partition("|")
        return f'<c r="{name}" {attributes}>{inside}</c>'
    if isinstance(value, bool):
        return f'<c r="{name}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{name}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{name}"><v>{value}</v></c>'
