"""The codec: layout of attributes, refusals before anything is counted, decoding in kind, order and type."""

from __future__ import annotations

import copy
import datetime as dt
import os
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from privbayes.encoding.codec import Codec, output_types
from privbayes.encoding.encoded import EncodedTable
from privbayes.errors import SchemaError, UnsupportedError
from privbayes.schema.columns import (
    BooleanColumn,
    CategoricalColumn,
    DateColumn,
    DatetimeColumn,
    IdColumn,
    IntegerColumn,
    NumberColumn,
    OrdinalColumn,
)
from privbayes.schema.schema import Schema
from privbayes.table.files import write_table
from privbayes.table.frames import to_frame
from privbayes.table.source import read_table

SENTINEL = "zq-secret-cell"
ENCODINGS = ("hierarchical", "vanilla", "binary", "gray")
DATA = Path(os.environ.get("PRIVBAYES_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
READY = sorted(DATA.glob("*.csv.gz")) if DATA.is_dir() else []

CLINIC = Schema(
    {
        "pid": IdColumn(),
        "age": IntegerColumn(min=0, max=99, nullable=True),
        "bmi": NumberColumn(min=10, max=60, bins=5),
        "sex": CategoricalColumn(values=("F", "M"), other=True, nullable=True),
        "smoker": BooleanColumn(),
        "severity": OrdinalColumn(values=("low", "mid", "high")),
        "admitted": DateColumn(min=dt.date(2020, 1, 1), max=dt.date(2020, 12, 31), nullable=True),
        "seen": DatetimeColumn(min=dt.datetime(2020, 1, 1), max=dt.datetime(2020, 12, 31)),
    }
)


def clinic(n: int = 300) -> pa.Table:
    """Rows in another column order than the schema's."""
    codec = Codec(CLINIC, "vanilla")
    rng = np.random.default_rng(5)
    codes = [rng.integers(0, a.cardinality, n) for a in codec.domain.attributes]
    return codec.decode(codes, rng, order=["seen", *(name for name in CLINIC.columns if name != "seen")])


def test_attributes_of_each_encoding() -> None:
    assert Codec(CLINIC).domain.names == CLINIC.modelled
    assert Codec(CLINIC).domain.attributes[0].level_sizes == (17, 9, 5, 3)
    assert all(a.height == 1 for a in Codec(CLINIC, "vanilla").domain.attributes)
    binary = Codec(CLINIC, "binary")
    assert binary.domain.is_binary
    assert binary.domain.names[:9] == (*(f"age#{b}" for b in range(5)), "bmi#0", "bmi#1", "bmi#2", "sex#0")
    assert "smoker" in binary.domain.names
    assert binary.column_axes("age") == (0, 1, 2, 3, 4)
    assert binary.column_axes("smoker") == (10,)
    assert Codec(CLINIC).column_axes("sex") == (2,)


def test_ids_and_strangers_are_not_modelled() -> None:
    for name in ("pid", "nothing"):
        with pytest.raises(SchemaError, match="not modelled"):
            Codec(CLINIC).column_axes(name)
    with pytest.raises(UnsupportedError, match="unknown encoding 'one-hot'; it must be one of hierarchical"):
        Codec(CLINIC, "one-hot")


def test_names_that_clash_with_bits_are_refused() -> None:
    schema = Schema({"a": IntegerColumn(min=0, max=9), "a#0": BooleanColumn()})
    assert len(Codec(schema).domain) == 2
    with pytest.raises(SchemaError, match="columns 'a' and 'a#0'"):
        _ = Codec(schema, "gray").domain


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encoding_and_decoding_round_trip(encoding: str) -> None:
    codec = Codec(CLINIC, encoding)
    table = read_table(clinic())
    encoded = codec.encode(table)
    assert len(encoded.columns) == len(codec.domain)
    assert encoded.n_rows == 300
    made = codec.decode(
        encoded.columns, np.random.default_rng(0), order=table.columns, types=output_types(CLINIC, table)
    )
    assert made.schema.equals(clinic().schema)
    again = codec.encode(read_table(made))
    assert all((a == b).all() for a, b in zip(encoded.columns, again.columns, strict=True))
    assert all(c.max() < a.cardinality for c, a in zip(encoded.columns, codec.domain.attributes, strict=True))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_column_codes_from_attributes(encoding: str) -> None:
    codec = Codec(CLINIC, encoding)
    plain = Codec(CLINIC, "vanilla")
    encoded, expected = codec.encode(read_table(clinic())), plain.encode(read_table(clinic()))
    for place, name in enumerate(CLINIC.modelled):
        axes = codec.column_axes(name)
        sizes = [codec.domain.cardinalities[axis] for axis in axes]
        flat = np.ravel_multi_index([encoded.columns[axis] for axis in axes], sizes)
        table = codec.column_from_attributes(name)
        assert len(table) == np.prod(sizes)
        assert (table[flat] == expected.columns[place]).all()


@pytest.mark.parametrize("encoding", ["binary", "gray"])
def test_every_pattern_of_bits_decodes(encoding: str) -> None:
    codec = Codec(CLINIC, encoding)
    rng = np.random.default_rng(1)
    made = codec.decode([rng.integers(0, 2, 500) for _ in codec.domain.attributes], rng)
    codec.encode(read_table(made))


def test_decoded_values_lie_in_their_bins_uniformly() -> None:
    schema = Schema({"age": IntegerColumn(min=17, max=90, bins=3), "bmi": NumberColumn(min=10, max=60, bins=5)})
    codec = Codec(schema, "vanilla")
    made = codec.decode([np.full(30_000, 1), np.full(30_000, 4)], np.random.default_rng(2))
    ages, counts = np.unique(made["age"].to_numpy(), return_counts=True)
    low, high = schema.columns["age"].edges[1:3]  # type: ignore[attr-defined]
    assert ages.tolist() == list(range(low, high))
    assert counts.min() > 0.8 * counts.mean()
    bmi = made["bmi"].to_numpy()
    assert 50 <= bmi.min() < 50.01
    assert 59.99 < bmi.max() <= 60


def test_missing_other_and_ids_come_back() -> None:
    schema = Schema(
        {
            "pid": IdColumn(prefix="P"),
            "sex": CategoricalColumn(values=("F", "M"), other=True, nullable=True),
            "no": IdColumn(),
            "on": DateColumn(min=dt.date(2020, 1, 1), max=dt.date(2020, 1, 2), nullable=True),
        }
    )
    made = Codec(schema).decode([np.array([0, 2, 3]), np.array([2, 1, 0])], np.random.default_rng(0), first_id=41)
    assert made.to_pydict() == {
        "pid": ["P41", "P42", "P43"],
        "sex": ["F", "other", None],
        "no": [41, 42, 43],
        "on": [None, dt.date(2020, 1, 2), dt.date(2020, 1, 1)],
    }
    assert [field.nullable for field in made.schema] == [False, True, False, True]


def test_decoding_is_repeatable_and_independent_of_missing_cells() -> None:
    schema = Schema({"a": NumberColumn(min=0, max=1, nullable=True), "b": NumberColumn(min=0, max=1)})
    codec = Codec(schema, "vanilla")
    rows = [np.zeros(4, np.uint8), np.zeros(4, np.uint8)]
    one = codec.decode(rows, np.random.default_rng(7))
    assert one.equals(codec.decode(rows, np.random.default_rng(7)))
    holed = codec.decode([np.array([0, 16, 0, 16]), rows[1]], np.random.default_rng(7))
    assert holed["b"].equals(one["b"])


def test_no_rows_decode_to_an_empty_table() -> None:
    codec = Codec(CLINIC)
    made = codec.decode([np.zeros(0, np.uint8)] * len(codec.domain), np.random.default_rng(0))
    assert made.num_rows == 0
    assert made.schema.names == list(CLINIC.columns)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_frames_come_back_as_they_went_in(kind: str) -> None:
    if kind != "arrow":
        pytest.importorskip(kind)
    frame = to_frame(clinic(), kind)
    table = read_table(frame)
    codec = Codec(CLINIC)
    encoded = codec.encode(table)
    made = codec.decode(
        encoded.columns, np.random.default_rng(0), order=table.columns, types=output_types(CLINIC, table)
    )
    back = to_frame(made, table.kind)
    assert type(back) is type(frame)
    assert list(read_table(back).columns) == list(table.columns)
    if kind == "pandas":
        assert list(back.dtypes) == list(frame.dtypes)
    elif kind == "polars":
        assert back.schema == frame.schema
    else:
        assert back.schema == frame.schema


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_files_encode_like_frames(tmp_path: Path, ending: str) -> None:
    write_table(clinic(), tmp_path / f"t{ending}")
    expected = Codec(CLINIC).encode(read_table(clinic())).columns
    found = Codec(CLINIC).encode(read_table(tmp_path / f"t{ending}")).columns
    # The text "other" is the code of `other` again, so that nothing differs.
    assert all((a == b).all() for a, b in zip(expected, found, strict=True))


def test_duckdb_relations_encode() -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = clinic()
    relation = duckdb.connect().from_arrow(rows)
    expected, found = Codec(CLINIC).encode(read_table(rows)), Codec(CLINIC).encode(read_table(relation))
    assert all(
        np.bincount(a).tolist() == np.bincount(b).tolist() for a, b in zip(expected.columns, found.columns, strict=True)
    )


def test_progress_is_told_per_column() -> None:
    told: list[tuple[str, int, int]] = []
    Codec(CLINIC).encode(read_table(clinic()), progress=lambda *step: told.append(step))
    assert told == [("encode", done, 7) for done in range(1, 8)]


def test_values_given_by_users_have_codes() -> None:
    codec = Codec(CLINIC)
    assert codec.code_of("sex", "M") == 1
    assert codec.code_of("sex", None) == 3
    assert codec.code_of("age", 42) == codec.code_of("age", "42") == 6
    assert codec.code_of("admitted", dt.date(2020, 12, 31)) == codec.code_of("admitted", "2020-12-31") == 15
    for value in ("x", None, {}, {1: 2}, object(), [1]):
        with pytest.raises(SchemaError, match="column 'severity'"):
            codec.code_of("severity", value)


def broken(**changes: Any) -> pa.Table:
    rows = clinic(3).to_pydict()
    rows.update(changes)
    return pa.table({name: cells for name, cells in rows.items() if cells is not None})


BAD_TABLES: dict[str, tuple[pa.Table, str]] = {
    "missing column": (broken(age=None), "lacks the column 'age'"),
    "missing id": (broken(pid=None), "lacks the column 'pid'"),
    "extra column": (broken(more=[SENTINEL] * 3), "has the column 'more', which the schema does not list"),
    "both": (broken(age=None, more=[SENTINEL] * 3), "lacks the column 'age'.*; the table has the column 'more'"),
    "wrong kind": (broken(age=["1", "2", SENTINEL]), "column 'age': .*wrong kind"),
    "half an integer": (broken(age=[1.5, 2.0, None]), "column 'age': .*needs a whole number"),
    "unlisted": (broken(severity=["low", "mid", SENTINEL]), "column 'severity': .*does not list"),
    "missing cell": (broken(smoker=[True, None, False]), "column 'smoker': .*not nullable"),
    "NaN": (broken(bmi=[1.0, float("nan"), 2.0]), "column 'bmi': .*not nullable"),
    "semicolons": (pa.table({"pid;age": [f"{SENTINEL};1"]}), "must be separated by commas"),
    "first in schema order": (broken(severity=[SENTINEL] * 3, bmi=[SENTINEL] * 3), "column 'bmi': .*wrong kind"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_tables_that_do_not_fit_are_refused_without_a_cell(case: str, encoding: str) -> None:
    table, rule = BAD_TABLES[case]
    with pytest.raises(SchemaError, match=rule) as caught:
        Codec(CLINIC, encoding).encode(read_table(table))
    error: BaseException | None = caught.value
    assert "\n" not in str(error)
    while error is not None:
        assert SENTINEL not in repr(error)
        error = error.__cause__ or error.__context__


def test_many_wrong_columns_are_listed_in_short() -> None:
    table = pa.table({"a": [True], **{f"c{i}": [1] for i in range(200)}})
    with pytest.raises(SchemaError, match="'c4' and 195 more") as caught:
        Codec(Schema({"a": BooleanColumn()})).encode(read_table(table))
    assert len(str(caught.value)) < 400


def test_one_column_constant_columns_and_one_row() -> None:
    schema = Schema({"only": CategoricalColumn(values=("x",))})
    for encoding in ENCODINGS:
        codec = Codec(schema, encoding)
        encoded = codec.encode(read_table(pa.table({"only": ["x"]})))
        assert [column.tolist() for column in encoded.columns] == [[0]]
        assert codec.decode(encoded.columns, np.random.default_rng(0))["only"].to_pylist() == ["x"]


def test_two_hundred_columns_and_ten_thousand_values(tmp_path: Path) -> None:
    columns: dict[str, Any] = {f"c{i}": IntegerColumn(min=0, max=99) for i in range(200)}
    columns["big"] = CategoricalColumn(values=tuple(f"v{i}" for i in range(10_000)))
    schema = Schema(columns)
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for encoding in ("hierarchical", "binary"):
        codec = Codec(schema, encoding)
        codes = [rng.integers(0, a.cardinality, 1000) for a in codec.domain.attributes]
        write_table(codec.decode(codes, rng), tmp_path / "t.csv")
        encoded = codec.encode(read_table(tmp_path / "t.csv"))
        if encoding == "hierarchical":
            assert encoded.columns[-1].dtype == np.uint16
            assert all((a == b).all() for a, b in zip(codes, encoded.columns, strict=True))
    assert time.perf_counter() - start < 10


def test_the_encoded_table_hides_itself() -> None:
    encoded = Codec(CLINIC).encode(read_table(clinic(3)))
    assert repr(encoded) == "<encoded private table, hidden>"
    for save in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            save(encoded)
    for wrong in ((), (np.zeros(2),), (np.zeros(2, np.uint8), np.zeros(3, np.uint8)), (np.zeros(8, np.uint8)[::2],)):
        with pytest.raises(ValueError, match=r"attribute|codes|rows"):
            EncodedTable(wrong)


def test_a_codec_travels() -> None:
    codec = pickle.loads(pickle.dumps(Codec(CLINIC, "gray")))
    assert codec.schema == CLINIC
    assert codec.domain == Codec(CLINIC, "gray").domain


@pytest.mark.skipif(not READY, reason="the benchmark tables are not here; set PRIVBAYES_DATA to their folder")
@pytest.mark.parametrize("path", READY, ids=lambda path: path.name)
def test_benchmark_tables_round_trip(path: Path) -> None:
    schema = Schema.load(str(path).replace(".csv.gz", ".schema.yaml"))
    table = read_table(path)
    for encoding in ("hierarchical", "gray"):
        codec = Codec(schema, encoding)
        start = time.perf_counter()
        encoded = codec.encode(table)
        made = codec.decode(
            encoded.columns, np.random.default_rng(0), order=table.columns, types=output_types(schema, table)
        )
        assert time.perf_counter() - start < 5
        again = codec.encode(read_table(made))
        assert all((a == b).all() for a, b in zip(encoded.columns, again.columns, strict=True))
