"""A small workbook in Excel's binary form, [MS-XLSB], written record by record."""

import struct
import zipfile

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_BOOK, _SHEETS, _SHEET = (131, 132), (143, 144), 156
_WORKSHEET, _CELLS, _SIZE = (129, 130), (145, 146), 148
_ROW, _TRUTH, _NUMBER, _TEXT = 0, 4, 5, 6


def write_xlsb(path, rows):
    """Write one sheet of numbers, truth values, texts and, where None, nothing."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{_TYPES}"/>')
        archive.writestr("_rels/.rels", _relation("officeDocument", "xl/workbook.bin"))
        archive.writestr(
            "xl/_rels/workbook.bin.rels", _relation("worksheet", "worksheets/sheet1.bin")
        )
        named = struct.pack("<II", 0, 1) + _text("rId1") + _text("data")
        archive.writestr(
            "xl/workbook.bin", _between(_BOOK, _between(_SHEETS, _record(_SHEET, named)))
        )
        size = struct.pack("<4I", 0, len(rows) - 1, 0, len(rows[0]) - 1)
        cells = b"".join(_row(place, row) for place, row in enumerate(rows))
        sheet = _record(_SIZE, size) + _between(_CELLS, cells)
        archive.writestr("xl/worksheets/sheet1.bin", _between(_WORKSHEET, sheet))
    return path


def _relation(kind, target):
    link = f'<Relationship Id="rId1" Type="{_OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_RELATIONS}">{link}</Relationships>'


def _row(place, row):
    cells = (_cell(struct.pack("<II", column, 0), value) for column, value in enumerate(row))
    return _record(_ROW, struct.pack("<IIHHBI", place, 0, 300, 0, 0, 0)) + b"".join(cells)


def _cell(at, value):
    if value is None:
        return b""
    if isinstance(value, bool):
        return _record(_TRUTH, at + bytes([value]))
    if isinstance(value, str):
        return _record(_TEXT, at + _text(value))
    return _record(_NUMBER, at + struct.pack("<d", value))


def _text(text):
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _between(kinds, content):
    return _record(kinds[0]) + content + _record(kinds[1])


def _record(kind, content=b""):
    # Kind and length come in groups of seven bits, the lowest first.
    head = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
    length, groups = len(content), b""
    while length > 127:
        groups, length = groups + bytes([length & 127 | 128]), length >> 7
    return head + groups + bytes([length]) + content
