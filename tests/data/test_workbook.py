"""Excel files read as their CSV export would; damaged, huge and malicious ones are refused in one sentence."""

from __future__ import annotations

import datetime
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from phasefit.data.io import workbook_check
from phasefit.data.io.frames import read_file, read_frame
from phasefit.data.sources import read_dataset, read_table
from phasefit.errors import DataError, MissingExtra

ROWS: list[list[Any]] = [["text", "label"], ["good", 1], ["bad", 0]]
SHEET = "xl/worksheets/sheet1.xml"
XML = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def with_part(path: Path, name: str, content: str | bytes) -> Path:
    """The same file with one part replaced."""
    with zipfile.ZipFile(path) as old:
        parts = {part: old.read(part) for part in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for part, data in (parts | {name: content}).items():
            new.writestr(part, data)
    return path


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return workbook(tmp_path / "t.xlsx", {"Data": ROWS})


def test_cells_become_the_text_of_a_csv_export(tmp_path: Path) -> None:
    cells = [
        ("5", "5"), (1, "1"), (1.0, "1"), (2.5, "2.5"), (0.1 + 0.2, "0.3"), (True, "TRUE"), (None, ""), ("#N/A", ""),
        (datetime.datetime(2024, 5, 17), "2024-05-17"),
        (datetime.datetime(2024, 5, 17, 8, 30), "2024-05-17 08:30:00"),
        (datetime.time(8, 30), "08:30:00"), (1e20, "1e+20"), (" é\n✓", " é\n✓"), ("a_x000D_\nb", "a\r\nb"),
    ]  # fmt: skip
    path = workbook(tmp_path / "t.xlsx", {"S": [["text", "n"], *(["x", value] for value, _ in cells)]})
    assert read_frame(path)["n"].tolist() == [text for _, text in cells]


def test_the_first_visible_sheet_is_assumed(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", {"Hidden": [["x"], ["y"]], "Data": ROWS, "More": [["text"], ["third"]]})
    changed = openpyxl.load_workbook(path)
    changed["Hidden"].sheet_state = "hidden"
    changed.save(path)
    table = read_table(str(path))
    assert (table.texts, table.labels) == (["good", "bad"], ["1", "0"])
    assert table.file.assumption == "t.xlsx: sheet 'Data', the first of 3; --sheet changes that"
    assert read_table(str(path), sheet="More", need_labels=False).texts == ["third"]
    with pytest.raises(DataError, match=r"t\.xlsx: there is no sheet 'Dta'; did you mean 'Data'\?"):
        read_table(str(path), sheet="Dta")
    with pytest.raises(DataError, match="--delimiter applies to CSV and TSV files"):
        read_table(str(path), delimiter=";")


def test_blank_rows_are_skipped_and_errors_name_the_row_of_the_sheet(tmp_path: Path) -> None:
    rows = [[None], ["text", "label", None], ["a", "x"], [None, None], [None, "y"], ["c", "x"]]
    path = workbook(tmp_path / "t.xlsx", {"S": rows})
    with pytest.raises(DataError, match=r"t\.xlsx, row 2 \(sheet row 5\): the text is empty or missing"):
        read_table(str(path))
    assert read_table(str(path), empty="drop").texts == ["a", "c"]
    path = workbook(tmp_path / "u.xlsx", {"S": [["text", "label"], ["a", "x"], ["b", "y", "note"]]})
    with pytest.raises(DataError, match=r"row 2 \(sheet row 3\): column C has a value but no name"):
        read_frame(path)


def test_a_folder_of_workbooks(tmp_path: Path) -> None:
    workbook(tmp_path / "train.xlsx", {"S": ROWS})
    workbook(tmp_path / "test.xlsx", {"S": ROWS[:2]})
    dataset = read_dataset(str(tmp_path))
    assert (len(dataset.train), len(dataset.test)) == (2, 1)


def test_formulas_count_by_their_stored_values(book: Path) -> None:
    header = '<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>'
    row = header + '<row r="2"><c r="A2" t="str"><f>1+1</f>{}</c></row>'
    with_part(book, SHEET, XML.format(row.format("<v>two</v>")))
    assert read_frame(book)["text"].tolist() == ["two"]
    with_part(book, SHEET, XML.format(row.format("")))
    with pytest.raises(DataError, match="sheet row 2, column 1: a formula without a stored value; open the file in"):
        read_frame(book)


def test_a_wrong_statement_of_the_size_hides_no_rows(book: Path) -> None:
    with zipfile.ZipFile(book) as archive:
        xml = archive.read(SHEET).decode()
    assert '<dimension ref="A1:B3"' in xml
    with_part(book, SHEET, xml.replace("A1:B3", "A1"))
    assert len(read_frame(book)) == 2


CELL = '<c r="{}" t="inlineStr"><is><t>x</t></is></c>'
BAD_SHEETS = {
    "no row": ("", "is empty"),
    "only a header": (f'<row r="1">{CELL.format("A1")}</row>', "has no rows, only a header"),
    "a row below the last": (f'<row r="1048577">{CELL.format("A1048577")}</row>', "damaged"),
    "rows in disorder": ('<row r="2"/><row r="1"/>', "damaged"),
    "a cell of another row": (f'<row r="1">{CELL.format("A2")}</row>', "damaged"),
    "a column right of the last": (f'<row r="1">{CELL.format("XFE1")}</row>', "damaged"),
    "not a reference": (f'<row r="1">{CELL.format("-1")}</row>', "damaged"),
    "a huge area": (f'<row r="1">{CELL.format("A1")}</row><row r="1048576">{CELL.format("XFD1048576")}</row>', "cells"),
    "unknown string": ('<row r="1"><c r="A1" t="s"><v>99</v></c></row>', "damaged"),
    "open": ("<row>", "damaged"),
    "wide": ("<row>" + "<c/>" * 20_000 + "</row>", "damaged"),
    "elements that are never forgotten": ("<x/>" * 400_000, "has too many elements to be read"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BAD_SHEETS.values(), ids=BAD_SHEETS)
def test_bad_sheets(book: Path, content: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_frame(with_part(book, SHEET, XML.format(content)))
    assert message in str(caught.value)
    assert str(caught.value).startswith("t.xlsx")
    assert "\n" not in str(caught.value)


def test_entities_and_other_namespaces(book: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + XML.format("<row><c><v>&b;</v></c></row>")
    with pytest.raises(DataError, match="damaged"):
        read_frame(with_part(book, SHEET, bomb))
    strict = XML.replace("schemas.openxmlformats.org/spreadsheetml/2006/main", "purl.oclc.org/ooxml/spreadsheetml/main")
    with pytest.raises(DataError, match="Strict Open XML"):
        read_frame(with_part(book, SHEET, strict.format("")))


def test_bombs_are_refused_by_the_directory_of_the_archive(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_part(book, "xl/media/zeros.bin", b"\0" * 3_000_000)
    assert book.stat().st_size < 20_000
    assert len(read_frame(book)) == 2
    monkeypatch.setattr(workbook_check, "MOST_BYTES", 1 << 20)
    with pytest.raises(DataError, match=r"t\.xlsx unpacks to more than"):
        read_frame(book)


@pytest.mark.parametrize("part", ["xl/sharedStrings.xml", "xl/styles.xml", "xl/workbook.xml", "xl/media/picture.png"])
def test_parts_that_openpyxl_would_hold_in_memory_are_bounded(book: Path, part: str) -> None:
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    with pytest.raises(DataError, match="has too many elements to be read; save the sheet as CSV"):
        read_frame(with_part(book, part, f'<sst xmlns="{space}"><si>' + "<r/>" * 300_001 + "</si></sst>"))


@pytest.mark.parametrize(
    ("limit", "most", "message"),
    [("MOST_STRINGS", 1, "has more than 1 texts"), ("MOST_HELD", 3, "has a text that is too long to be read")],
)
def test_shared_strings_are_bounded(
    book: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, message: str
) -> None:
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    with_part(book, "xl/sharedStrings.xml", f'<sst xmlns="{space}"><si><t>four</t></si><si/></sst>')
    monkeypatch.setattr(workbook_check, limit, most)
    with pytest.raises(DataError, match=message):
        read_frame(book)


def test_an_error_about_labels_names_the_sheet_that_was_read(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", {"Info": [["text"], ["made by us"]], "Data": ROWS})
    with pytest.raises(
        DataError, match=r"no label column.*\(assumed: sheet 'Info', the first of 2; --sheet changes that\)"
    ):
        read_table(path)


def test_one_long_text_in_every_row_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "t.xlsx", {"S": [["text"], *[["x" * 1000]] * 20]})
    assert len(read_frame(path)) == 20
    monkeypatch.setattr("phasefit.data.io.workbook.MOST_CHARACTERS", 10_000)
    with pytest.raises(DataError, match="sheet 'S' has more than 10,000 characters; save it as CSV"):
        read_frame(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x", "t.xlsx is not an Excel file or is damaged"),
        (b"PK\x03\x04 cut", "t.xlsx is not an Excel file or is damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "t.xlsx is an old or password-protected Excel file; save it as .xlsx"),
    ],
)
def test_other_content(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "t.xlsx").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_frame(tmp_path / "t.xlsx")
    assert str(caught.value).startswith(message)


def test_an_archive_without_a_workbook(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "hello")
    (tmp_path / "t.xlsx").write_bytes(file.getvalue())
    with pytest.raises(DataError, match="is not an Excel file or is damaged"):
        read_frame(tmp_path / "t.xlsx")
    (tmp_path / "t.xlsx.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(DataError, match="is compressed already; unpack it first"):
        read_frame(tmp_path / "t.xlsx.gz")


def test_without_openpyxl_the_extra_is_named(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"Excel files need openpyxl; install it: pip install 'phasefit\[excel\]'"):
        read_file(book)
