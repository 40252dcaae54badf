"""Output types: those of the input, and never a hint of whether a cell is missing."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from privbayes.encoding.codec import Codec, output_types
from privbayes.encoding.types import check_types, parse_type, type_name
from privbayes.errors import TableError
from privbayes.schema.columns import (
    BooleanColumn,
    CategoricalColumn,
    Column,
    DateColumn,
    DatetimeColumn,
    IdColumn,
    IntegerColumn,
    NumberColumn,
    OrdinalColumn,
)
from privbayes.schema.schema import Schema
from privbayes.table.source import read_table

AGE = IntegerColumn(min=0, max=99)
BMI = NumberColumn(min=0, max=50)
DAY = DateColumn(min=dt.date(2020, 1, 1), max=dt.date(2020, 12, 31))
TIME = DatetimeColumn(min=dt.datetime(2020, 1, 1), max=dt.datetime(2021, 1, 1))
OLD = DatetimeColumn(min=dt.datetime(1000, 1, 1), max=dt.datetime(2021, 1, 1))
LEVEL = OrdinalColumn(values=("low", "high"))


@pytest.mark.parametrize(
    ("column", "held", "given_back"),
    [
        (BooleanColumn(), pa.bool_(), "bool"),
        (BooleanColumn(), pa.int8(), "int8"),
        (BooleanColumn(), pa.float64(), "int64"),
        (BooleanColumn(), pa.string(), "string"),
        (AGE, pa.int8(), "int8"),
        (AGE, pa.float64(), "int64"),
        (AGE, pa.uint16(), "uint16"),
        (AGE, pa.decimal128(10, 2), "decimal128(10, 2)"),
        (AGE, pa.large_string(), "large_string"),
        (AGE, pa.dictionary(pa.int8(), pa.string()), "string"),
        (IntegerColumn(min=0, max=300), pa.int8(), "int64"),
        (IntegerColumn(min=-5, max=3), pa.uint8(), "int64"),
        (BMI, pa.float64(), "double"),
        (BMI, pa.float32(), "float"),
        (BMI, pa.int64(), "double"),
        (BMI, pa.decimal128(10, 2), "decimal128(10, 2)"),
        (BMI, pa.decimal128(3, 2), "double"),
        (BMI, pa.decimal64(9, 3), "decimal64(9, 3)"),
        (BMI, pa.decimal256(60, 9), "decimal256(60, 9)"),
        (NumberColumn(min=0, max=0.1, bins=10), pa.decimal128(9, 2), "decimal128(9, 2)"),
        (NumberColumn(min=0, max=0.1, bins=12), pa.decimal128(9, 2), "double"),
        (NumberColumn(min=-0.3, max=0.3, bins=7), pa.decimal128(9, 5), "decimal128(9, 5)"),
        (NumberColumn(min=1, max=1 + 1e-9, bins=2), pa.float32(), "double"),
        (DatetimeColumn(min="2020-01-01", max="2020-01-01 00:00:03"), pa.timestamp("s"), "timestamp[us]"),  # type: ignore[arg-type]
        (DatetimeColumn(min="2020-01-01", max="2020-01-01 00:01:00"), pa.timestamp("s"), "timestamp[s]"),  # type: ignore[arg-type]
        (DatetimeColumn(min=dt.datetime(1960, 1, 1), max=dt.datetime(1960, 1, 9)), pa.timestamp("ms"), "timestamp[ms]"),
        (DAY, pa.date32(), "date32[day]"),
        (DAY, pa.timestamp("ns"), "timestamp[ns]"),
        (DAY, pa.string(), "string"),
        (TIME, pa.timestamp("ns", "Europe/Berlin"), "timestamp[ns, tz=Europe/Berlin]"),
        (TIME, pa.timestamp("s"), "timestamp[s]"),
        (OLD, pa.timestamp("ns"), "timestamp[us]"),
        (TIME, pa.date32(), "timestamp[us]"),
        (LEVEL, pa.string(), "string"),
        (LEVEL, pa.dictionary(pa.int8(), pa.large_string(), True), "ordered dictionary<large_string>"),
        (CategoricalColumn(values=("0", "1")), pa.int16(), "int16"),
        (CategoricalColumn(values=("0", "1")), pa.float64(), "int64"),
        (CategoricalColumn(values=("0", "1"), other=True), pa.int64(), "string"),
        (CategoricalColumn(values=(1, 2)), pa.string(), "string"),
        (CategoricalColumn(values=(1, 2)), pa.float64(), "int64"),
        (CategoricalColumn(values=(0.5, 2)), pa.float64(), "double"),
        (CategoricalColumn(values=("true", "false")), pa.bool_(), "string"),
        (IdColumn(), pa.int32(), "int64"),
        (IdColumn(), pa.large_string(), "large_string"),
        (IdColumn(prefix="P"), pa.int64(), "string"),
    ],
)
def test_types_follow_the_input(column: Column, held: pa.DataType, given_back: str) -> None:
    schema = Schema({"x": column, "anchor": BooleanColumn(nullable=True)})
    table = read_table(pa.table({"x": pa.nulls(2, held), "anchor": pa.nulls(2, pa.bool_())}))
    types = output_types(schema, table)
    assert check_types(schema, types) == types  # what a model file holds is taken back as it is
    assert types["x"] == given_back
    codec = Codec(schema, "vanilla")
    codes = [np.arange(200) % attribute.cardinality for attribute in codec.domain.attributes]
    made = codec.decode(codes, np.random.default_rng(0), types=types)
    assert type_name(made.schema.field("x").type) == given_back
    again = codec.encode(read_table(made))
    for mine, theirs in zip(codes, again.columns, strict=True):
        assert (mine == theirs).all()


def test_natural_types_of_text_files() -> None:
    schema = Schema({"a": AGE, "b": BMI, "c": DAY, "d": TIME, "e": BooleanColumn(), "f": OrdinalColumn(values=(1, 2))})
    made = Codec(schema, "vanilla").decode([np.zeros(1, np.uint8)] * 6, np.random.default_rng(0))
    assert [type_name(form) for form in made.schema.types] == [
        *("int64", "double", "date32[day]", "timestamp[us]", "bool", "int64")
    ]


@pytest.mark.parametrize(
    ("column", "whole", "holed"),
    [
        (IntegerColumn(min=0, max=9, nullable=True), [1, 2], [1, None]),
        (OrdinalColumn(values=(1, 2), nullable=True), [1, 2], [1, None]),
        (OrdinalColumn(values=("1", "2"), nullable=True), [1, 2], [1, None]),
        (BooleanColumn(nullable=True), [True, False], [True, None]),
        (BooleanColumn(nullable=True), [1, 0], [1, None]),
        (NumberColumn(min=0, max=9, nullable=True), [1, 2], [1, None]),
        (NumberColumn(min=0, max=9, nullable=True), [1.5, 2], [1.5, None]),
        (CategoricalColumn(values=("a", "b"), nullable=True), ["a", "b"], ["a", None]),
        (
            DateColumn(min=dt.date(2020, 1, 1), max=dt.date(2021, 1, 1), nullable=True),
            [dt.date(2020, 1, 1)] * 2,
            [None] * 2,
        ),
    ],
)
@pytest.mark.parametrize("dtype", [None, "object"])
def test_a_missing_cell_never_changes_the_type(column: Column, whole: list[Any], holed: list[Any], dtype: Any) -> None:
    pandas = pytest.importorskip("pandas")
    schema = Schema({"x": column})
    found = [
        output_types(schema, read_table(pandas.DataFrame({"x": pandas.Series(v, dtype=dtype)}))) for v in (whole, holed)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "name", ["", "list<int>", "timestamp[us, tz=]", "decimal128(99, 2)", "dictionary<what>", "os.system"]
)
def test_foreign_type_names_are_refused(name: str) -> None:
    with pytest.raises(TableError, match="unknown column type"):
        parse_type(name)
