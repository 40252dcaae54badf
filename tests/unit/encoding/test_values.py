"""Cells to codes: every column kind from every type it may be held as, and refusals that hold no cell."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from privbayes.encoding.values import column_codes
from privbayes.errors import SchemaError
from privbayes.schema.columns import (
    BooleanColumn,
    CategoricalColumn,
    Column,
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    OrdinalColumn,
)

SENTINEL = "zq-secret-cell"
UTC = dt.UTC

BOOLEAN = BooleanColumn(nullable=True)
AGE = IntegerColumn(min=0, max=9, bins=5, nullable=True)
BMI = NumberColumn(min=0, max=10, bins=5, nullable=True)
DAY = DateColumn(min=dt.date(2020, 1, 1), max=dt.date(2020, 1, 10), bins=5, nullable=True)
TIME = DatetimeColumn(min=dt.datetime(2020, 1, 1), max=dt.datetime(2020, 1, 10, 23, 59, 59, 999_999), bins=10)
SEX = CategoricalColumn(values=("F", "M"), nullable=True)
GRADE = OrdinalColumn(values=(1, 2, 3), nullable=True)


def codes(column: Column, cells: Any, form: Any = None) -> list[int]:
    array = cells if isinstance(cells, (pa.Array, pa.ChunkedArray)) else pa.array(cells, form)
    return column_codes(column, array).tolist()


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        ([False, True, None], None),
        ([0, 1, None], pa.int8()),
        ([0.0, 1.0, float("nan")], None),
        (["false", "TRUE", ""], None),
        (["no", " Yes ", "NA"], pa.large_string()),
        (["f", "T", None], pa.string_view()),
        (["0", "1", "None"], pa.dictionary(pa.int8(), pa.string())),
    ],
)
def test_booleans(cells: list[Any], form: Any) -> None:
    assert codes(BOOLEAN, cells, form) == [0, 1, 2]


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        ([0, 3, 9, -7, 99, None], None),
        ([0, 3, 9, -7, 99, None], pa.int8()),
        ([0.0, 3.0, 9.0, -np.inf, np.inf, np.nan], None),
        ([Decimal("0.0"), Decimal(3), Decimal(9), Decimal(-7), Decimal(99), None], pa.decimal128(9, 1)),
        (["0", "+3", "9.0", "-7", "9e30", "nan"], None),
        (["00", " 3 ", "9.", "-7", "9" * 30, ""], None),
        (["0", "3", "9", "-7", "99", "null"], pa.dictionary(pa.int32(), pa.string())),
    ],
)
def test_integers_are_binned_and_clipped(cells: list[Any], form: Any) -> None:
    assert codes(AGE, cells, form) == [0, 1, 4, 0, 4, 5]


def test_unsigned_integers_beyond_int64_are_clipped() -> None:
    assert codes(AGE, [0, 2**64 - 1, None], pa.uint64()) == [0, 4, 5]


def test_large_integers_are_exact() -> None:
    base = 2**60
    column = IntegerColumn(min=base, max=base + 3)
    expected = [0, 1, 2, 3]
    assert codes(column, [base + i for i in range(4)]) == expected
    assert codes(column, [str(base + i)[:18] for i in range(4)]) == [0, 0, 0, 0]
    small = 2**55
    exact = IntegerColumn(min=small, max=small + 3)
    assert codes(exact, [str(small + i) for i in range(4)]) == expected
    assert codes(exact, [str(small + i) for i in range(4)] + ["1e3"]) == [*expected, 0]


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        ([0.0, 3.9, 10.0, -1.0, 1e300, None], None),
        ([0.0, 3.9, 10.0, -np.inf, np.inf, np.nan], pa.float32()),
        ([Decimal("0"), Decimal("3.9"), Decimal(10), Decimal(-1), Decimal(11), None], pa.decimal128(9, 1)),
        (["0", "3.9", "1e1", "-.5", "1e999", "NaN"], None),
    ],
)
def test_numbers(cells: list[Any], form: Any) -> None:
    assert codes(BMI, cells, form) == [0, 1, 4, 0, 4, 5]


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 3), dt.date(2020, 1, 10), dt.date(1900, 1, 1), None], pa.date32()),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 3), dt.date(2020, 1, 10), dt.date(1900, 1, 1), None], pa.date64()),
        ([dt.datetime(2020, 1, d) for d in (1, 3, 10)] + [dt.datetime(1900, 1, 1), None], pa.timestamp("ns")),
        (["2020-01-01", "2020-01-03 00:00:00", "2020-01-10T00:00", "0001-01-01", "NA"], None),
    ],
)
def test_dates(cells: list[Any], form: Any) -> None:
    assert codes(DAY, cells, form) == [0, 1, 4, 0, 5]


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        ([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), dt.datetime(2030, 1, 1)], pa.timestamp("s")),
        ([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), dt.datetime(2030, 1, 1)], pa.timestamp("ns")),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2030, 1, 1)], pa.date32()),
        (
            [
                dt.datetime(2020, 1, 1, tzinfo=UTC),
                dt.datetime(2020, 1, 2, tzinfo=UTC),
                dt.datetime(2030, 1, 1, tzinfo=UTC),
            ],
            pa.timestamp("us", "Asia/Tokyo"),
        ),
        (["2020-01-01 23:59:59.999999999", "2020-01-02T01:00:00+01:00", "2030-01-01"], None),
        (["2020-01-01", "2020-01-02 00:00:00 Z", "2030-01-01 00:00"], None),
    ],
)
def test_datetimes(cells: list[Any], form: Any) -> None:
    assert codes(TIME, cells, form) == [0, 1, 9]


def test_categories_match_by_text() -> None:
    assert codes(SEX, ["M", "F", None, ""]) == [1, 0, 2, 2]
    assert codes(SEX, pa.array(["M", None, "F"]).dictionary_encode()) == [1, 2, 0]
    assert codes(GRADE, ["1", "3", "2.0", " 2", "03"]) == [0, 2, 1, 1, 2]
    assert codes(GRADE, [1, 3, None], pa.int16()) == [0, 2, 3]
    assert codes(GRADE, [1.0, 3.0, np.nan]) == [0, 2, 3]
    quoted = CategoricalColumn(values=("0", "1", "2.50"))
    assert codes(quoted, [1, 0]) == [1, 0]
    assert codes(quoted, [1.0, 2.5]) == [1, 2]
    assert codes(CategoricalColumn(values=("True", "False")), [True, False]) == [0, 1]
    assert codes(CategoricalColumn(values=("false", "true")), [True, False]) == [1, 0]
    assert codes(CategoricalColumn(values=("2020-01-01", "x")), [dt.date(2020, 1, 1)]) == [0]


def test_text_categories_are_not_matched_as_numbers() -> None:
    column = CategoricalColumn(values=("1", "01"), other=True)
    assert codes(column, ["1", "01", "1.0"]) == [0, 1, 2]


def test_a_blank_is_a_value_only_where_the_schema_lists_it() -> None:
    column = CategoricalColumn(values=("", "x"), nullable=True)
    assert codes(column, ["", "x", None]) == [0, 1, 2]
    with pytest.raises(SchemaError, match="does not list"):
        codes(SEX, ["NA"])


def test_unlisted_values_take_the_code_of_other() -> None:
    column = CategoricalColumn(values=("a",), other=True, nullable=True)
    assert codes(column, ["a", SENTINEL, None]) == [0, 1, 2]
    assert codes(column, [7, 8], None) == [1, 1]


def test_unused_dictionary_entries_are_no_problem() -> None:
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["F", "M", SENTINEL]))
    assert codes(SEX, cells) == [0, 1, 0]
    sliced = pa.array(["F", SENTINEL, "M"]).dictionary_encode().slice(2)
    assert codes(SEX, sliced) == [1]
    holed = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["F", None]))
    assert codes(SEX, holed) == [0, 2, 2]


def test_dictionaries_of_numbers_and_chunks_with_their_own_dictionaries() -> None:
    assert codes(AGE, pa.array([1, 9, None]).dictionary_encode()) == [0, 4, 5]
    chunks = pa.chunked_array([pa.array(["F", "M"]).dictionary_encode(), pa.array(["M", None]).dictionary_encode()])
    assert codes(SEX, chunks) == [0, 1, 1, 2]
    assert codes(SEX, pa.chunked_array([], pa.string())) == []
    assert codes(AGE, pa.chunked_array([[1], [], [9, None]])) == [0, 4, 5]


@pytest.mark.parametrize("column", [BOOLEAN, AGE, BMI, DAY, SEX, GRADE])
def test_columns_of_nothing_are_missing(column: Column) -> None:
    assert set(codes(column, pa.nulls(3))) == {column.missing_code}


@pytest.mark.parametrize(
    ("values", "dtype"), [(256, np.uint8), (257, np.uint16), (10_000, np.uint16), (65_537, np.uint32)]
)
def test_codes_take_the_smallest_unsigned_type(values: int, dtype: Any) -> None:
    column = CategoricalColumn(values=tuple(range(values)))
    found = column_codes(column, pa.array([0, values - 1]))
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    assert found.tolist() == [0, values - 1]


WRONG: list[tuple[Column, Any]] = [
    (BooleanColumn(), [SENTINEL, "true"]),
    (BooleanColumn(), ["2"]),
    (BooleanColumn(), [0, 2]),
    (BooleanColumn(), [0.5]),
    (BooleanColumn(), [dt.date(2020, 1, 1)]),
    (AGE, ["1", SENTINEL]),
    (AGE, ["3.5"]),
    (AGE, [3.5]),
    (AGE, [Decimal("3.5")]),
    (AGE, ["0x1f"]),
    (AGE, ["1_000"]),
    (AGE, ["inf"]),
    (AGE, [True]),
    (AGE, [dt.datetime(2020, 1, 1)]),
    (AGE, [[1]]),
    (AGE, [b"1"]),
    (BMI, ["1.5", SENTINEL]),
    (BMI, ["1,5"]),
    (BMI, ["inf"]),
    (BMI, [False]),
    (BMI, [{"a": 1.5}]),
    (DAY, [SENTINEL]),
    (DAY, ["01/31/2020"]),
    (DAY, ["2020-02-31"]),
    (DAY, ["2020-01-02 08:30:00"]),
    (DAY, [dt.datetime(2020, 1, 2, 8, 30)]),
    (DAY, [20200102]),
    (TIME, [SENTINEL]),
    (TIME, ["2020-01-02T25:00:00"]),
    (TIME, ["2020-01-02T10:00:00+99:00"]),
    (TIME, [1.5]),
    (SEX, [[SENTINEL]]),
    (SEX, [SENTINEL.encode()]),
]


@pytest.mark.parametrize(("column", "cells"), WRONG)
def test_cells_of_the_wrong_kind_are_refused(column: Column, cells: list[Any]) -> None:
    with pytest.raises(SchemaError, match="wrong kind; type") as caught:
        codes(column, cells)
    assert_silent(caught.value, cells)


@pytest.mark.parametrize(
    ("column", "cells", "rule"),
    [
        (SEX, ["F", SENTINEL], "does not list; declare `other: true`"),
        (SEX, ["F", "f"], "does not list"),
        (SEX, ["F", "F "], "does not list"),
        (GRADE, [1, 4], "does not list"),
        (GRADE, ["1.5"], "does not list"),
        (GRADE, [1.5, np.inf], "does not list"),
        (BooleanColumn(), [True, None], "missing but the column is not nullable"),
        (IntegerColumn(min=0, max=9), [1.0, np.nan], "missing but the column is not nullable"),
        (NumberColumn(min=0, max=9), [np.nan], "missing but the column is not nullable"),
        (NumberColumn(min=0, max=9), ["1", "NA"], "missing but the column is not nullable"),
        (CategoricalColumn(values=("a",)), ["a", ""], "missing but the column is not nullable"),
        (CategoricalColumn(values=("a",), other=True), ["a", None], "missing but the column is not nullable"),
    ],
)
def test_values_outside_the_schema_are_refused(column: Column, cells: list[Any], rule: str) -> None:
    with pytest.raises(SchemaError, match=rule) as caught:
        codes(column, cells)
    assert_silent(caught.value, [cell for cell in cells if len(str(cell)) > 2])


def assert_silent(error: BaseException, cells: list[Any]) -> None:
    assert "\n" not in str(error)
    seen: BaseException | None = error
    while seen is not None:
        text = f"{seen!r}".replace("2020-01-31", "")  # the example in the rule
        for cell in cells:
            assert not (isinstance(cell, str) and len(cell) > 3 and cell in text and cell != "true")
        assert SENTINEL not in text
        seen = seen.__cause__ or seen.__context__
