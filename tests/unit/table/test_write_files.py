"""Writing files: what is written, and that a failure leaves nothing under the final name."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from privbayes.errors import TableError
from privbayes.table.files import check_writable_name, write_table
from privbayes.table.source import read_table

TABLE = pa.table(
    {
        "n": pa.array([1, None, -3]),
        "x": pa.array([0.5, 1e20, None]),
        "b": pa.array([True, False, None]),
        "d": pa.array([dt.date(2020, 1, 31), None, dt.date(1969, 12, 31)]),
        "t": pa.array([dt.datetime(2020, 1, 31, 8, 30), None, dt.datetime(1969, 1, 1, 0, 0, 0, 1)]),
        "s": pa.array(["plain", 'a "quoted", one', None]),
        "two\nlines, é": pa.array(["a\nb", "", "é"]).dictionary_encode(),
    }
)
ENDINGS = (".csv", ".csv.gz", ".parquet", ".arrow", ".feather")


def test_csv_text_quotes_only_where_needed(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == (
        'n,x,b,d,t,s,"two\nlines, é"\n'
        '1,0.5,true,2020-01-31,2020-01-31 08:30:00.000000,plain,"a\nb"\n'
        ',1e+20,false,,,"a ""quoted"", one",\n'
        "-3,,,1969-12-31,1969-01-01 00:00:00.000001,,é\n"
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read_back(tmp_path: Path, ending: str) -> None:
    write_table(TABLE, tmp_path / f"t{ending}")
    read = read_table(tmp_path / f"t{ending}")
    assert read.columns == tuple(TABLE.column_names)
    assert read.n_rows == 3
    if "csv" not in ending:
        assert read.column("t").to_pylist() == TABLE["t"].to_pylist()
    assert [name.name for name in tmp_path.iterdir()] == [f"t{ending}"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_pieces_are_written_as_they_come(tmp_path: Path, ending: str) -> None:
    def pieces() -> Iterator[pa.Table | pa.RecordBatch]:
        yield TABLE
        yield from TABLE.to_batches()
        yield TABLE.slice(0, 0)
        yield TABLE.slice(1)

    write_table(pieces(), str(tmp_path / f"t{ending}"))
    assert read_table(tmp_path / f"t{ending}").n_rows == 8


def test_a_missing_cell_in_a_one_column_file_is_not_a_blank_line(tmp_path: Path) -> None:
    write_table(pa.table({"a": pa.array([1, None, 2])}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == 'a\n1\n""\n2\n'
    assert read_table(tmp_path / "t.csv").n_rows == 3


def test_python_reads_the_same_rows(tmp_path: Path) -> None:
    texts = ["", " ", ",", '"', '""', "\n", "\r\n", "a,b", "é", "'", "\t", "x"] * 6000
    texts[7] = "long " * 20_000
    write_table(pa.table({"a": texts, "b": ["z"] * len(texts)}), tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert [row[0] for row in rows[1:]] == texts


def test_tables_without_rows_keep_their_header(tmp_path: Path) -> None:
    write_table(TABLE.select(["n", "s"]).slice(0, 0), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "n,s\n"


def test_equal_tables_give_equal_gzip_files(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "a.csv.gz")
    write_table(TABLE, tmp_path / "b.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"n,x,b,")


def test_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", stream)
    write_table(TABLE.select(["n"]), "-")
    assert stream.buffer.getvalue() == b'n\n1\n""\n-3\n'  # type: ignore[attr-defined]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("stop", [KeyboardInterrupt, TableError, MemoryError])
def test_an_interrupt_leaves_nothing_and_spares_what_was_there(
    tmp_path: Path, ending: str, stop: type[BaseException]
) -> None:
    target = tmp_path / f"t{ending}"
    target.write_bytes(b"before")

    def pieces() -> Iterator[pa.Table]:
        yield TABLE
        raise stop

    with pytest.raises(stop):
        write_table(pieces(), target)
    assert target.read_bytes() == b"before"
    assert [name.name for name in tmp_path.iterdir()] == [target.name]
    target.unlink()
    with pytest.raises(stop):
        write_table(pieces(), target)
    assert list(tmp_path.iterdir()) == []


FULL_DISK = """
import resource, signal, sys
import pyarrow as pa
from privbayes.errors import TableError
from privbayes.table.files import write_table
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_table(pa.table({"a": list(range(100_000))}), sys.argv[1])
except TableError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a matter of POSIX systems")
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_leaves_nothing(tmp_path: Path, ending: str) -> None:
    source = str(Path(__file__).resolve().parents[3] / "src")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / f"t{ending}")],
        env={**os.environ, "PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "cannot be written (File too large); nothing was left there" in done.stdout
    assert done.stdout.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_names_that_cannot_be_written(tmp_path: Path) -> None:
    for name, rule in (("t.xls", "must end in"), ("no/t.csv", "does not exist"), ("d.csv", "a folder")):
        (tmp_path / "d.csv").mkdir(exist_ok=True)
        with pytest.raises(TableError, match=rule):
            check_writable_name(tmp_path / name)
        with pytest.raises(TableError, match=rule):
            write_table(TABLE, tmp_path / name)
    with pytest.raises(TableError, match="no table to write"):
        write_table(iter([]), tmp_path / "t.csv")
    assert [name.name for name in tmp_path.iterdir()] == ["d.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a matter of POSIX systems")
def test_links_are_followed_and_pipes_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "real" / "t.csv")
    write_table(TABLE.select(["n"]), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real" / "t.csv").read_text().startswith("n\n")
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_table(TABLE.select(["n"]), pipe)
        assert os.read(handle, 100) == b'n\n1\n""\n-3\n'
    finally:
        os.close(handle)
    assert pipe.is_fifo()
