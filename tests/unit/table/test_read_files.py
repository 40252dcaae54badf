"""Reading files: what is read, what is refused, and that no refusal holds a cell."""

from __future__ import annotations

import gzip
import io
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from privbayes.errors import TableError
from privbayes.table.files import write_table
from privbayes.table.source import PrivateTable, read_table

SENTINEL = "zq-secret-cell"


def cells(table: PrivateTable, name: str) -> list[object]:
    return table.column(name).cast(pa.string()).to_pylist()


def write(tmp_path: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_every_csv_cell_is_text(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, 'a,b,"c, d"\n1,,x\n007,NA,"say ""hi"",\nthere"\n'))
    assert table.columns == ("a", "b", "c, d")
    assert (table.n_rows, table.kind) == (2, "file")
    assert cells(table, "a") == ["1", "007"]
    assert cells(table, "b") == ["", "NA"]
    assert cells(table, "c, d") == ["x", 'say "hi",\nthere']


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".CSV"])
def test_byte_order_marks_line_ends_and_gzip(tmp_path: Path, ending: str) -> None:
    text = b"\xef\xbb\xbfa,b\r\n1,\xc3\xa9\r\n\r\n2,y\r\n"
    path = write(tmp_path, gzip.compress(text) if ending.endswith("gz") else text, f"t{ending}")
    table = read_table(str(path))
    assert table.columns == ("a", "b")
    assert cells(table, "b") == ["é", "y"]


def test_a_blank_line_is_a_missing_cell_only_in_a_one_column_file(tmp_path: Path) -> None:
    assert cells(read_table(write(tmp_path, "a\n1\n\n2\n")), "a") == ["1", "", "2"]
    assert read_table(write(tmp_path, "a,b\n1,1\n\n2,2\n")).n_rows == 2


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    assert cells(read_table("-"), "b") == ["2"]


def test_long_rows_are_read(tmp_path: Path) -> None:
    long = "x" * (9 * 2**20)
    assert cells(read_table(write(tmp_path, f"a,b\n1,{long}\n2,y\n")), "a") == ["1", "2"]


def test_parquet_and_arrow_keep_their_types(tmp_path: Path) -> None:
    given = pa.table({"a": pa.array([1, None], pa.int16()), "b": ["x", "y"]})
    parquet.write_table(given, tmp_path / "t.parquet")
    feather.write_feather(given, str(tmp_path / "t.feather"))
    with pa.ipc.new_stream(str(tmp_path / "t.arrow"), given.schema) as writer:
        writer.write_table(given)
    for name in ("t.parquet", "t.feather", "t.arrow"):
        table = read_table(tmp_path / name)
        assert table.column("a").type == pa.int16()
        assert cells(table, "a") == ["1", None]


def test_only_the_columns_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,c\n1,2,3\n")
    assert read_table(path, columns=["c", "a"]).columns == ("c", "a")
    with pytest.raises(TableError, match="lacks the column 'd'"):
        read_table(path, columns=["d"])
    with pytest.raises(TableError, match="twice: 'a'"):
        read_table(path, columns=["a", "a"])


S = SENTINEL
BAD_FILES: dict[str, tuple[str, bytes, str]] = {
    "empty": ("t.csv", b"", "is empty"),
    "only blank lines": ("t.csv", b"\n\n", "is empty"),
    "header only": ("t.csv", b"a,b\n", "header but no rows"),
    "header only, no line end": ("t.csv", b"a,b", "header but no rows"),
    "repeated column": ("t.csv", f"a,b,a\n{S},1,2\n".encode(), "columns 1 and 3 have the same name"),
    "nameless column": ("t.csv", f",a\n0,{S}\n".encode(), "has no name"),
    "short row": ("t.csv", f"a,b\n{S},1\n{S}\n".encode(), "do not have the 2 cells"),
    "long row": ("t.csv", f"a,b\n{S},1\n{S},2,3\n".encode(), "do not have the 2 cells"),
    "latin-1 cell": ("t.csv", f"a,b\n{S}é,1\n".encode("latin-1"), "not UTF-8"),
    "latin-1 header": ("t.csv", f"é,b\n{S},1\n".encode("latin-1"), "not UTF-8"),
    "utf-16": ("t.csv", f"a,b\n{S},1\n".encode("utf-16"), "not UTF-8"),
    "utf-16 without mark": ("t.csv", f"a,b\n{S},1\n".encode("utf-16-le"), "not a CSV text file"),
    "open quote": ("t.csv", f'a,b\n"{S},1\n{S},2\n'.encode(), "t.csv: "),
    "open quote in header": ("t.csv", f'a,"b\n{S},1\n'.encode(), "t.csv: "),
    "not gzip": ("t.csv.gz", f"a,b\n{S},1\n".encode(), "gzip data is damaged"),
    "cut gzip": ("t.csv.gz", gzip.compress(f"a,b\n{S},1\n".encode() * 999)[:-12], "gzip data is damaged"),
    "torn gzip": ("t.csv.gz", gzip.compress(bytes(range(256)) * 99)[:20] + b"x" * 99, "gzip data is damaged"),
    "empty gzip": ("t.csv.gz", b"", "is empty"),
    "gzip of nothing": ("t.csv.gz", gzip.compress(b""), "is empty"),
    "not parquet": ("t.parquet", f"a,b\n{S},1\n".encode(), "not a readable parquet file"),
    "empty parquet": ("t.parquet", b"", "is empty"),
    "not arrow": ("t.arrow", f"a,b\n{S},1\n".encode() * 9, "not a readable arrow file"),
    "unknown ending": ("t.xlsx", f"{S}".encode(), "must end in .csv"),
    "no ending": ("t", f"{S}".encode(), "must end in .csv"),
    "plain gzip": ("t.gz", f"{S}".encode(), "must end in .csv"),
}


def chain(error: BaseException | None) -> str:
    """All that a logged traceback would say: the error and whatever led to it."""
    text = ""
    while error is not None:
        text += f"{error!r} "
        error = error.__cause__ or error.__context__
    return text


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_refused_in_one_line_without_a_cell(tmp_path: Path, case: str) -> None:
    name, content, rule = BAD_FILES[case]
    path = write(tmp_path, content, name)
    with pytest.raises(TableError) as caught:
        read_table(path)
    message = str(caught.value)
    assert rule in message
    assert "\n" not in message
    assert str(path) in message
    assert SENTINEL not in chain(caught.value)


def test_damaged_parquet_and_arrow(tmp_path: Path) -> None:
    given = pa.table({"a": [SENTINEL] * 1000, "b": range(1000)})
    parquet.write_table(given, tmp_path / "t.parquet", compression="none")
    feather.write_feather(given, str(tmp_path / "t.arrow"), compression="uncompressed")
    for name in ("t.parquet", "t.arrow"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(TableError) as caught:
            read_table(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert SENTINEL not in chain(caught.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.csv", "t.csv.gz"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_anywhere_is_refused_or_harmless(tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = tmp_path / name
    write_table(pa.table({"name": ["ä", "b", None] * 9, "n": list(range(27)), "x": [0.5] * 27}), path)
    damaged = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=4)):
        damaged[place] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged[: data.draw(st.sampled_from([len(damaged), len(damaged) // 2]))])
    with suppress(TableError):
        for column in read_table(path).columns:
            assert column


def test_a_column_name_that_is_not_text(tmp_path: Path) -> None:
    for name in ("t.arrow", "t.parquet"):
        write_table(pa.table({"a name": [1]}), tmp_path / name)
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes().replace(b"a name", b"a n\xffme"))
        with pytest.raises(TableError, match="not a readable"):
            read_table(tmp_path / name)


def test_files_without_rows_or_with_repeated_names(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="no rows"):
        read_table(tmp_path / "t.parquet")
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), pa.schema([("a", pa.int64()), ("a", pa.int64())])) as writer:
        writer.write_batch(pa.record_batch([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(TableError, match=r"columns 1 and \d have the same name"):
        read_table(tmp_path / "t.arrow")


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no such file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="a folder"):
        read_table(tmp_path / "folder.csv")
