"""Table files in and out: CSV (also gzipped), Parquet and Arrow; a failed write leaves nothing under the final name."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from privbayes.core.atomic import atomic_file
from privbayes.errors import TableError
from privbayes.table.source import PrivateTable, check_names

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_writable_name", "read_file", "write_table"]

_FORMATS = {".csv": "csv", ".csv.gz": "csv.gz", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
_GZIP_LEVEL = 4
_CSV_ROWS = 65_536


def _format(path: Path) -> str:
    name = path.name.lower()
    for ending in sorted(_FORMATS, key=len, reverse=True):
        if name.endswith(ending):
            return _FORMATS[ending]
    raise TableError(f"{path}: unknown kind of file; the name must end in {', '.join(_FORMATS)}")


def read_file(source: str | Path) -> PrivateTable:
    """Read a table file; ``-`` is CSV text on standard input."""
    import pyarrow as pa

    from privbayes.table.csvtext import read_csv

    if str(source) == "-":
        data = sys.stdin.buffer.read()
        table = read_csv(lambda: io.BytesIO(data), "standard input")
        return PrivateTable(table, "file", inferred=table.column_names)
    path = Path(source)
    form = _format(path)
    if not path.exists():
        raise TableError(f"{path}: no such file")
    if path.is_dir():
        raise TableError(f"{path}: a folder, not a file; name one table file")
    problem = ""
    try:
        if path.stat().st_size == 0:
            raise TableError(f"{path}: the file is empty")
        if form in ("csv", "csv.gz"):
            table = read_csv(_opener(path, form), str(path))
            return PrivateTable(table, "file", inferred=table.column_names)
        table = _read_parquet(path) if form == "parquet" else _read_arrow(path)
        names = table.column_names
    except (EOFError, zlib.error, gzip.BadGzipFile):
        problem = "the gzip data is damaged or cut short"
    except (pa.ArrowException, UnicodeDecodeError):  # its text may hold cells
        problem = f"not a readable {form} file; it may be damaged, cut short or of another kind"
    except OSError as error:  # pyarrow raises OSError for damaged data too, with a text that is not to be trusted
        problem = f"cannot be read ({os.strerror(error.errno)})" if error.errno else f"not a readable {form} file"
    if problem:
        raise TableError(f"{path}: {problem}")
    check_names(names, str(path))
    if table.num_rows == 0:
        raise TableError(f"{path}: the table has no rows; at least one is needed")
    return PrivateTable(table, "file")


def _opener(path: Path, form: str) -> Callable[[], IO[bytes]]:
    if form == "csv.gz":
        return lambda: cast(IO[bytes], gzip.open(path, "rb"))
    return lambda: path.open("rb")


def _read_parquet(path: Path) -> pa.Table:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:  # and not `read_table`, which reads columns off the names of folders
        check_names(file.schema_arrow.names, str(path))
        table = file.read()
    table.validate(full=True)  # a damaged file must fail here and not later
    return table


def _read_arrow(path: Path) -> pa.Table:
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as file:  # not mapped: the file may change while the table is in use
        try:
            table = pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            file.seek(0)
            table = pa.ipc.open_stream(file).read_all()
    table.validate(full=True)
    return table


def check_writable_name(path: str | Path) -> None:
    """Refuse a name that `write_table` could not write to, before any budget is spent on what would go there."""
    if str(path) == "-":
        return
    target = Path(path)
    _format(target)
    if target.is_dir():
        raise TableError(f"{target}: a folder; name a file in it")
    if not target.parent.is_dir():
        raise TableError(f"{target}: the folder {target.parent} does not exist")


def write_table(table: pa.Table | pa.RecordBatch | Iterable[pa.Table | pa.RecordBatch], path: str | Path) -> None:
    """Write a table, or the pieces of one as they come, in the format its name ends in; ``-`` is CSV on standard
    output. The file appears under its name only once it is whole: a full disk or an interrupt leaves nothing there.
    """
    import pyarrow as pa

    pieces = iter([table] if isinstance(table, (pa.Table, pa.RecordBatch)) else table)
    if str(path) == "-":
        _write_csv(pieces, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    check_writable_name(path)
    with atomic_file(path) as file:
        _WRITERS[_format(Path(path))](pieces, file)


def _first(pieces: Iterator[Any]) -> Any:
    for piece in pieces:
        return piece
    raise TableError("there is no table to write")


def _write_csv(pieces: Iterator[Any], file: IO[bytes]) -> None:
    from privbayes.table.csvtext import csv_header, csv_lines

    piece = _first(pieces)
    file.write(csv_header(piece.schema))
    while piece is not None:
        for start in range(0, piece.num_rows, _CSV_ROWS):
            file.write(csv_lines(piece.slice(start, _CSV_ROWS)))
        piece = next(pieces, None)


def _write_gzip(pieces: Iterator[Any], file: IO[bytes]) -> None:
    # No name and no time inside, so that equal tables give equal files.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=file, mtime=0) as packed:
        _write_csv(pieces, packed)  # type: ignore[arg-type]


def _write_parquet(pieces: Iterator[Any], file: IO[bytes]) -> None:
    from pyarrow import parquet

    piece = _first(pieces)
    with parquet.ParquetWriter(file, piece.schema) as writer:
        _write_pieces(writer, piece, pieces)


def _write_arrow(pieces: Iterator[Any], file: IO[bytes]) -> None:
    import pyarrow as pa

    piece = _first(pieces)
    with pa.ipc.new_file(file, piece.schema) as writer:
        _write_pieces(writer, piece, pieces)


def _write_pieces(writer: Any, piece: Any, pieces: Iterator[Any]) -> None:
    while piece is not None:
        write = writer.write_table if hasattr(piece, "combine_chunks") else writer.write_batch
        write(piece)
        piece = next(pieces, None)


_WRITERS: dict[str, Callable[[Iterator[Any], IO[bytes]], None]] = {
    "csv": _write_csv,
    "csv.gz": _write_gzip,
    "parquet": _write_parquet,
    "arrow": _write_arrow,
}
