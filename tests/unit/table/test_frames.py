"""Frames in and out, the hidden private table, and refusals without a cell."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from privbayes.errors import TableError, UnsupportedError
from privbayes.table.frames import to_frame
from privbayes.table.source import read_table

SENTINEL = "zq-secret-cell"


def test_the_table_hides_itself_and_cannot_be_saved() -> None:
    table = read_table(pa.table({"a": [SENTINEL]}))
    assert SENTINEL not in repr(table) + str(table) + f"{[table]}"
    for save in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            save(table)


def test_pandas_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"i": [1, 2], "f": [1.5, None], "s": ["x", None], "o": pandas.array([True, None], dtype=object)}, index=[7, 9]
    )
    table = read_table(frame)
    assert (table.columns, table.n_rows, table.kind) == (("i", "f", "s", "o"), 2, "pandas")
    assert table.column("f").to_pylist() == [1.5, None]
    assert table.column("o").to_pylist() == [True, None]


def test_types_read_off_the_cells_are_not_declared() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"o": pandas.Series([1, None], dtype=object), "i": pandas.Series([1, 2], dtype="int16")})
    table = read_table(frame)
    assert table.declared_type("o", nullable=True) is None
    assert table.declared_type("i", nullable=True) == pa.int64()
    assert table.declared_type("i", nullable=False) == pa.int16()


def test_object_columns_of_mixed_scalars_count_by_their_text() -> None:
    pandas = pytest.importorskip("pandas")
    table = read_table(pandas.DataFrame({"m": pandas.Series(["a", 1, None, 2.5, True], dtype=object)}))
    assert table.column("m").to_pylist() == ["a", "1", None, "2.5", "True"]


def test_polars_frames() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, None], "s": ["x", "y"]})
    for given in (frame, frame.lazy()):
        table = read_table(given)
        assert (table.columns, table.n_rows, table.kind) == (("a", "s"), 2, "polars")


def test_arrow_tables_batches_and_whatever_speaks_arrow() -> None:
    given = pa.table({"a": [1, 2]})

    class Speaks:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return given.__arrow_c_stream__(requested_schema)

    for frame in (given, given.to_batches()[0], given.to_reader(), Speaks()):
        table = read_table(frame)
        assert (table.kind, table.column("a").to_pylist()) == ("arrow", [1, 2])


def test_duckdb_relations() -> None:
    duckdb = pytest.importorskip("duckdb")
    table = read_table(duckdb.sql("select 1 as a, 'x' as b union all select 2, null"))
    assert (table.columns, table.n_rows, table.kind) == (("a", "b"), 2, "arrow")
    assert sorted(table.column("a").to_pylist()) == [1, 2]


def pandas_frames() -> dict[str, tuple[Any, str]]:
    pandas = pytest.importorskip("pandas")
    mixed = pandas.Series([SENTINEL, dt.date(2020, 1, 1), [1]], dtype=object)
    return {
        "repeated names": (pandas.DataFrame([[SENTINEL, 1]], columns=["a", "a"]), "columns 1 and 2 have the same name"),
        "numbers as names": (pandas.DataFrame([[SENTINEL, 1]]), "column names must be text"),
        "layers of names": (
            pandas.DataFrame([[SENTINEL]], columns=pandas.MultiIndex.from_tuples([("a", "b")])),
            "more than one row of column names",
        ),
        "cells of any kind": (pandas.DataFrame({"c": mixed}), "column 'c': cells of kinds that do not fit"),
        "objects": (pandas.DataFrame({"c": [object()]}), "column 'c': cells of kinds that do not fit"),
        "no rows": (pandas.DataFrame({"a": []}), "no rows"),
        "no columns": (pandas.DataFrame(index=[1, 2]), "no columns"),
        "nothing": (pandas.DataFrame(), "no columns"),
    }


@pytest.mark.parametrize("case", list(pandas_frames()))
def test_pandas_frames_that_are_refused(case: str) -> None:
    frame, rule = pandas_frames()[case]
    refused(frame, rule)


def refused(frame: Any, rule: str) -> None:
    with pytest.raises(TableError, match=rule) as caught:
        read_table(frame)
    assert SENTINEL not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_frames_that_are_refused() -> None:
    polars = pytest.importorskip("polars")
    refused(polars.DataFrame({"a": []}), "no rows")
    refused(pa.table({"a": pa.array([], pa.int64())}), "no rows")
    refused(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), "have the same name")
    refused(pa.table({"": [SENTINEL]}), "has no name")
    for wrong in (None, 5, [SENTINEL], {"a": [SENTINEL]}, [{"a": SENTINEL}], b"t.csv"):
        refused(wrong, "cannot be read as a table")


TABLE = pa.table(
    [
        pa.array([1, 2]),
        pa.array([1, None]),
        pa.array([True, None]),
        pa.array(["x", None]),
        pa.array([dt.date(2020, 1, 1), None]),
    ],
    schema=pa.schema(
        [
            pa.field("whole", pa.int64(), nullable=False),
            pa.field("maybe", pa.int64()),
            pa.field("flag", pa.bool_()),
            pa.field("text", pa.string()),
            pa.field("day", pa.date32()),
        ]
    ),
)


def test_to_pandas_types_follow_the_schema_and_not_the_rows_drawn() -> None:
    pytest.importorskip("pandas")
    for rows in (TABLE, TABLE.slice(0, 1), TABLE.slice(0, 0)):
        frame = to_frame(rows, "pandas")
        types = [str(kind) for kind in frame.dtypes]
        assert types[:3] == ["int64", "Int64", "boolean"]
        assert list(frame.index) == list(range(rows.num_rows))
    assert to_frame(TABLE, "pandas")["day"].tolist()[0] == dt.date(2020, 1, 1)


def test_to_polars_and_arrow() -> None:
    polars = pytest.importorskip("polars")
    frame = to_frame(TABLE, "polars")
    assert frame.schema["day"] == polars.Date
    assert frame["maybe"].to_list() == [1, None]
    assert to_frame(TABLE, "arrow") is TABLE
    assert to_frame(TABLE, "file") is TABLE
    with pytest.raises(UnsupportedError, match="unknown kind of frame"):
        to_frame(TABLE, "spark")


def test_one_library_never_loads_another() -> None:
    code = (
        "import sys, pyarrow as pa\n"
        "from privbayes.table.source import read_table\n"
        "from privbayes.table.files import write_table\n"
        "assert 'pyarrow.csv' not in sys.modules\n"
        "read_table(pa.table({'a': [1]}))\n"
        "assert not {'polars', 'narwhals'} & set(sys.modules)\n"  # pyarrow itself loads pandas if it is there
    )
    source = str(Path(__file__).resolve().parents[3] / "src")
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": source}, check=True, timeout=60)
