"""Drafting reads the rows and says so; a draft fits its table; checking names every problem and no cell."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from privbayes.errors import SchemaError, TableError
from privbayes.schema.check import check_schema
from privbayes.schema.columns import BooleanColumn, CategoricalColumn, IdColumn, IntegerColumn
from privbayes.schema.draft import DraftWarning, draft_schema
from privbayes.schema.schema import Schema

SENTINEL = "zq-secret-cell"


def draft(source: Any) -> Schema:
    with pytest.warns(DraftWarning, match="read the rows; review before use"):
        return draft_schema(source)


def entry(values: list[Any], name: str = "x", form: Any = None) -> dict[str, Any]:
    table = pa.table({name: pa.array(values, form)})
    schema = draft(pa.table({name: table[name], "anchor": pa.array([True] * len(values))}))
    assert check_schema(pa.table({name: table[name], "anchor": pa.array([True] * len(values))}), schema) == ()
    return schema.to_dict()["columns"][name]


def test_the_draft_says_that_it_is_not_private() -> None:
    text = draft(pa.table({"a": [1, 2, 3]})).to_yaml()
    assert text.startswith("# DRAFT, NOT PRIVATE")
    assert "Review before use" in text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, False, None], {"type": "boolean", "nullable": True}),
        (["true", "FALSE", "NA"], {"type": "boolean", "nullable": True}),
        (["yes", "no", "no"], {"type": "categorical", "values": ["no", "yes"]}),
        ([0, 1, 1], {"type": "categorical", "values": [0, 1]}),
        (["0", "1", ""], {"type": "categorical", "values": [0, 1], "nullable": True}),
        ([3, 5, 9], {"type": "integer", "min": 3, "max": 9, "bins": 16}),
        ([5, 5, 5], {"type": "integer", "min": 5, "max": 6, "bins": 16}),
        ([17, 42, 88], {"type": "integer", "min": 10, "max": 90, "bins": 16}),
        ([-17, 3, 4321], {"type": "integer", "min": -1000, "max": 5000, "bins": 16}),
        ([1.0, None, 40.0, 90.0], {"type": "integer", "min": 0, "max": 90, "bins": 16, "nullable": True}),
        ([0.31, 0.52, 0.98], {"type": "number", "min": 0.3, "max": 1, "bins": 16}),
        (["1.5", "-2.25", "nan"], {"type": "number", "min": -3, "max": 2, "bins": 16, "nullable": True}),
        ([0.5, 0.5], {"type": "number", "min": 0, "max": 1, "bins": 16}),
        (["2020-03-05", "2022-01-02"], {"type": "date", "min": "2020-01-01", "max": "2022-12-31", "bins": 16}),
        (
            [dt.date(2020, 3, 5), dt.date(2020, 11, 7)],
            {"type": "date", "min": "2020-03-01", "max": "2020-11-30", "bins": 16},
        ),
        (
            ["2020-12-05T10:30:00", "2020-12-30 11:00"],
            {"type": "datetime", "min": "2020-12-01 00:00:00", "max": "2020-12-31 23:59:59.999999", "bins": 16},
        ),
        (["02134", "90210", "10001"], {"type": "categorical", "values": ["02134", "10001", "90210"]}),
        (["b", "a", None], {"type": "categorical", "values": ["a", "b"], "nullable": True}),
        (["NA", "EU", "NA"], {"type": "categorical", "values": ["EU", "NA"]}),
        (["only", "only"], {"type": "categorical", "values": ["only"]}),
    ],
)
def test_guesses(values: list[Any], expected: dict[str, Any]) -> None:
    assert entry(values) == expected


def test_ids_by_name_and_by_distinct_texts() -> None:
    assert entry([f"p{i}" for i in range(40)]) == {"type": "id"}
    assert entry(list(range(40)), "patient_id") == {"type": "id"}
    assert entry(list(range(40)), "patientID") == {"type": "id"}
    assert entry(["a", "b"] * 20, "hospital_id")["type"] == "categorical"
    assert entry(list(range(40)), "paid")["type"] == "integer"


def test_repeated_ids_propose_rows_per_person() -> None:
    table = pa.table({"patient_id": [1, 1, 1, 2, 2, 3, 4, 5], "visit_id": list(range(8)), "x": [1, 2] * 4})
    assert draft(table).rows_per_person == 3


def test_dictionary_columns_are_drafted_by_their_values() -> None:
    assert entry(["u", "v", "u"], form=pa.dictionary(pa.int8(), pa.string())) == {
        "type": "categorical",
        "values": ["u", "v"],
    }


@pytest.mark.parametrize(
    ("cells", "rule"),
    [
        (pa.array([f"{SENTINEL}{i // 2}" for i in range(3000)]), "more than 1000 distinct texts"),
        (pa.nulls(3000), "every cell is missing"),
        (pa.array([""] * 3000), "every cell is missing"),
        (pa.array([[SENTINEL]] * 3000), "cannot be drafted"),
        (pa.array([SENTINEL.encode()] * 3000), "cannot be drafted"),
        (pa.array([float("inf")] * 3000), "no cell is a finite number"),
    ],
)
def test_what_cannot_be_drafted_names_the_column(cells: pa.Array, rule: str) -> None:
    with pytest.warns(DraftWarning), pytest.raises(SchemaError, match=rule) as caught:
        draft_schema(pa.table({"notes": cells}))
    assert str(caught.value).startswith("column 'notes': ")
    assert SENTINEL not in str(caught.value)


def test_a_csv_draft_fits_its_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("pid,age,sex,bmi,day\nx1,40,F,20.5,2020-01-01\nx2,,M,NA,2021-05-01\nx3,61,,30.25,\n")
    schema = draft(path)
    assert check_schema(path, schema) == ()
    assert schema.columns["age"].nullable
    assert schema.columns["bmi"].nullable


def test_check_lists_every_problem_without_a_cell() -> None:
    schema = Schema(
        {
            "id": IdColumn(),
            "age": IntegerColumn(min=0, max=99),
            "sex": CategoricalColumn(values=("F", "M")),
            "ok": BooleanColumn(nullable=True),
            "gone": BooleanColumn(),
            "blank": BooleanColumn(),
        }
    )
    table = pa.table(
        {
            "id": [SENTINEL],
            "age": [SENTINEL],
            "sex": [SENTINEL],
            "ok": pa.array([None], pa.bool_()),
            "blank": pa.array([None], pa.bool_()),
            "extra": [SENTINEL],
        }
    )
    problems = check_schema(table, schema)
    assert [problem.column for problem in problems] == ["age", "sex", "gone", "blank", "extra"]
    rules = [problem.rule for problem in problems]
    for rule, word in zip(
        rules, ["wrong kind", "does not list", "missing from the table", "nullable", "not list"], strict=True
    ):
        assert word in rule
    assert all(SENTINEL not in str(problem) and "\n" not in str(problem) for problem in problems)


def test_check_of_an_unreadable_table(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no such file"):
        check_schema(tmp_path / "none.csv", Schema({"a": BooleanColumn()}))


def test_a_table_without_a_header_line_is_told_without_its_first_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{SENTINEL},1\n{SENTINEL},2\n", encoding="utf-8")
    problems = check_schema(path, Schema({"a": BooleanColumn(), "b": BooleanColumn()}))
    assert [problem.column for problem in problems] == ["a", "b"]
    assert "a line of column names" in problems[0].rule
    assert SENTINEL not in "".join(map(str, problems))
