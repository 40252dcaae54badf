"""CSV text: read with every cell as text, written with quotes only where they are needed."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from privbayes.errors import TableError
from privbayes.table.source import check_names, is_text

__all__ = ["csv_header", "csv_lines", "read_csv"]

_BLOCK = 4 * 2**20
_LARGEST_BLOCK = 2**28
_NEEDS_QUOTES = '[",\r\n]'


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def read_csv(open_bytes: Callable[[], IO[bytes]], where: str) -> pa.Table:
    """All cells as dictionary-encoded text, a blank as the empty text. Types are never guessed: a guess would depend
    on the cells, and so would its failures.
    """
    with open_bytes() as file:
        names = _header(file, where)
    # Cells of a one-column table may be blank lines; elsewhere a blank line is no row.
    parse = arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(names) > 1)
    text = pa.dictionary(pa.int32(), pa.string())
    convert = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, text), strings_can_be_null=False)
    block, problem = _BLOCK, ""
    while True:
        try:
            with open_bytes() as file:
                read = arrow_csv.ReadOptions(block_size=block)
                table = arrow_csv.read_csv(file, read_options=read, parse_options=parse, convert_options=convert)
            break
        except (pa.ArrowException, ValueError) as error:
            problem = _problem(str(error), len(names))  # Arrow quotes the row: its text must go no further
        if problem != _TOO_LONG or block >= _LARGEST_BLOCK:
            raise TableError(f"{where}: {problem}")
        block *= 8
    if table.num_rows == 0:
        raise TableError(f"{where}: {_NO_ROWS}")
    return table


_NO_ROWS = "the file has a header but no rows"
_TOO_LONG = "a row is longer than a row can be; look for a quote that is never closed"


def _problem(text: str, width: int) -> str:
    if "UTF8" in text or "UTF-8" in text:
        return "not UTF-8 text; save it as UTF-8"
    if "straddling" in text:
        return _TOO_LONG
    if "Empty CSV file or block" in text:  # a header whose line does not end
        return _NO_ROWS
    if "Expected" in text and "columns" in text:
        return f"some rows do not have the {width} cells that the header has; look for unquoted commas and cut lines"
    return "not a well-formed CSV file; look for quotes that are never closed and cut lines"


def _header(file: IO[bytes], where: str) -> list[str]:
    problem = ""
    names: list[str] = []
    try:
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        names = next(csv.reader(_bounded(lines), strict=True), [])
        lines.detach()
    except UnicodeDecodeError:
        problem = "not UTF-8 text; save it as UTF-8"
    except csv.Error:
        problem = "the header is not well-formed CSV"
    if problem:
        raise TableError(f"{where}: {problem}")
    if not names:
        raise TableError(f"{where}: the file is empty; a CSV file starts with a line of column names")
    if any("\0" in name for name in names):
        raise TableError(f"{where}: not a CSV text file")
    check_names(names, where)
    return names


def _bounded(lines: IO[str]) -> Iterator[str]:
    while line := lines.readline(2**24):
        yield line


def csv_header(schema: pa.Schema) -> bytes:
    """The line of column names."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(schema.names)
    return line.getvalue().encode()


def csv_lines(batch: Any) -> pa.Buffer | bytes:
    """The rows of a batch as CSV text; a missing cell is blank."""
    if batch.num_rows == 0:
        return b""
    columns = [_cells(column) for column in batch.columns]
    if len(columns) == 1:  # a blank line might be skipped by a reader, a quoted blank is not
        columns = [pc.if_else(pc.equal(columns[0], _text("")), _text('""'), columns[0])]
    columns[-1] = pc.binary_join_element_wise(columns[-1], _text("\n"), _text(""))
    lines = pc.binary_join_element_wise(*columns, _text(","))
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    text = lines.buffers()[2]
    return text if text is not None else b""


def _cells(column: Any) -> Any:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if is_text(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()  # each distinct text is looked at once
    if pa.types.is_dictionary(column.type):
        texts = _texts(column.dictionary)
        return pc.fill_null(texts.take(column.indices), _text(""))
    return pc.fill_null(_texts(column), _text(""))


def _texts(values: pa.Array) -> pa.Array:
    texts = pc.cast(values, pa.large_string())
    if not is_text(values.type):
        return texts  # numbers, dates and booleans never hold a comma or a quote
    special = pc.match_substring_regex(texts, _NEEDS_QUOTES)
    if not pc.any(special, min_count=0).as_py():
        return texts
    doubled = pc.replace_substring(texts, '"', '""')
    quoted = pc.binary_join_element_wise(_text('"'), doubled, _text('"'), _text(""))
    return pc.if_else(special, quoted, texts)
