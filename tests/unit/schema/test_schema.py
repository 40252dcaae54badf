"""Schema files: read, write, and errors of one line that name the column and the rule."""

from __future__ import annotations

import json
import os
import pickle
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from privbayes.errors import SchemaError
from privbayes.schema.columns import BooleanColumn, CategoricalColumn, DateColumn, IdColumn, IntegerColumn
from privbayes.schema.schema import Schema

EVERY_KIND = """
rows_per_person: 2
columns:
  age:        {type: integer, min: 17, max: 90, bins: 16}
  bmi:        {type: number, min: 10, max: 60.5, bins: 8, nullable: true}
  admitted:   {type: date, min: 2020-01-01, max: 2024-12-31}
  seen:       {type: datetime, min: 2020-01-01 00:00:00, max: 2024-12-31 23:59:59.5}
  smoker:     {type: boolean}
  severity:   {type: ordinal, values: [low, medium, high]}
  grade:      {type: ordinal, values: [1, 2, 3]}
  workclass:  {type: categorical, values: [Federal-gov, Local-gov, "no", 2.5], other: true,
               taxonomy: [[Federal-gov, Local-gov], "no", 2.5]}
  patient_id: {type: id, prefix: P}
"""

DATA = Path(os.environ.get("PRIVBAYES_DATA", Path(__file__).resolve().parents[4] / "shared" / "data"))
READY = sorted(DATA.glob("*.schema.yaml")) if DATA.is_dir() else []


def load(tmp_path: Path, text: str) -> Schema:
    path = tmp_path / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return Schema.load(path)


def test_every_kind_is_read_and_written_back(tmp_path: Path) -> None:
    schema = load(tmp_path, EVERY_KIND)
    assert [column.kind for column in schema.columns.values()] == [
        *("integer", "number", "date", "datetime", "boolean", "ordinal", "ordinal", "categorical", "id")
    ]
    assert schema.rows_per_person == 2
    assert schema.modelled == tuple(schema.columns)[:-1]
    assert load(tmp_path, schema.to_yaml()) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    schema.save(tmp_path / "saved.yaml")
    assert Schema.load(tmp_path / "saved.yaml") == schema
    assert sorted(file.name for file in tmp_path.iterdir()) == ["s.yaml", "saved.yaml"]


def test_equality_minds_order_and_content() -> None:
    a, b = BooleanColumn(), IntegerColumn(min=0, max=9)
    assert Schema({"a": a, "b": b}) != Schema({"b": b, "a": a})
    assert Schema({"a": a}) != Schema({"a": a}, rows_per_person=2)
    assert Schema({"a": a}) == Schema({"a": BooleanColumn()}, comment="aside")
    assert len({Schema({"a": a}), Schema({"a": BooleanColumn()})}) == 1


def test_a_schema_cannot_be_changed() -> None:
    schema = Schema({"a": BooleanColumn()})
    with pytest.raises(TypeError):
        schema.columns["b"] = BooleanColumn()  # type: ignore[index]


def test_the_comment_stands_above_the_yaml(tmp_path: Path) -> None:
    text = Schema({"a": BooleanColumn()}, comment="one\ntwo").to_yaml()
    assert text.startswith("# one\n# two\n")
    assert load(tmp_path, text) == Schema({"a": BooleanColumn()})


def test_dates_and_texts_survive_yaml(tmp_path: Path) -> None:
    schema = Schema(
        {
            "on": DateColumn(min="2020-01-01", max="2021-01-01"),  # type: ignore[arg-type]
            "ünï": CategoricalColumn(values=("yes", "no", "1", "2020-01-01", "null", " x ", "", "a: b", "#")),
            "1": IdColumn(prefix=""),
        }
    )
    assert load(tmp_path, schema.to_yaml()) == schema


@pytest.mark.skipif(not READY, reason="the ready schemas are not here; set PRIVBAYES_DATA to their folder")
@pytest.mark.parametrize("path", READY, ids=lambda path: path.name)
def test_ready_schemas_load_and_round_trip(path: Path, tmp_path: Path) -> None:
    schema = Schema.load(path)
    assert load(tmp_path, schema.to_yaml()) == schema
    assert Schema.from_dict(schema.to_dict()) == schema


def test_a_schema_is_written_as_people_write_it(tmp_path: Path) -> None:
    text = load(tmp_path, EVERY_KIND).to_yaml()
    assert "! " not in text, "no tags"
    assert "admitted: {type: date, min: 2020-01-01, max: 2024-12-31, bins: 16}" in text
    assert "min: '2020-01-01 00:00:00'" in text


def test_wide_and_long_schemas_load(tmp_path: Path) -> None:
    columns = {f"c{i}": BooleanColumn() for i in range(200)}
    schema = Schema({**columns, "big": CategoricalColumn(values=tuple(f"v{i}" for i in range(10_000)))})
    assert load(tmp_path, schema.to_yaml()) == schema
    assert schema.columns["big"].cardinality == 10_000


def columns(entry: Any) -> dict[str, Any]:
    return {"columns": {"age": entry}}


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ([], "must be a mapping"),
        ({}, "no `columns`"),
        ({"columns": {}}, "`columns` is empty"),
        ({"columns": None}, "must be a mapping"),
        ({"columns": [{"name": "age"}]}, "must be a mapping"),
        ({"colums": {}}, "unknown key 'colums'.*did you mean `columns`"),
        ({"columns": {"age": {"type": "boolean"}}, "rows_per_person": 0}, "rows_per_person must be"),
        ({"columns": {"age": {"type": "boolean"}}, "rows_per_person": True}, "rows_per_person must be"),
        ({"columns": {"age": {"type": "boolean"}}, "rows_per_person": 1.5}, "rows_per_person must be"),
        (
            {"columns": {"age": {"type": "boolean"}}, "rows_per_person": 10**9},
            "must be at most 1,000,000",
        ),
        ({"columns": {"id": {"type": "id"}}}, "nothing to model"),
        ({"columns": {False: {"type": "boolean"}}}, "boolean false; quote it"),
        ({"columns": {7: {"type": "boolean"}}}, "must be text"),
        ({"columns": {None: {"type": "boolean"}}}, "must be text"),
        ({"columns": {("a", "b"): {"type": "boolean"}}}, "must be text"),
        ({"columns": {"": {"type": "boolean"}}}, "printable text on one line"),
        ({"columns": {"a\nb": {"type": "boolean"}}}, "printable text on one line"),
    ],
)
def test_what_a_schema_refuses(given: Any, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule) as caught:
        Schema.from_dict(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "rule"),
    [
        ("integer", "described by a mapping"),
        (None, "described by a mapping"),
        ({}, "`type` is missing"),
        ({"type": "int"}, "unknown type 'int'; it must be one of boolean"),
        ({"type": ["integer"]}, "unknown type"),
        ({"type": "integer", "min": 0}, "needs `max`"),
        ({"type": "integer", "min": 0, "max": None}, "`max` is empty"),
        ({"type": "integer", "min": 9, "max": 1}, "min must be below max"),
        ({"type": "integer", "min": 0, "max": 9.5}, "max of an integer column must be a whole number"),
        ({"type": "integer", "min": 0, "max": 9, "bin": 4}, "unknown key 'bin'.*did you mean `bins`"),
        ({"type": "integer", "min": 0, "max": 9, "bins": "many"}, "bins must be"),
        ({"type": "boolean", "values": [0, 1]}, "unknown key 'values'"),
        ({"type": "boolean", 5: 1}, "unknown key 5"),
        ({"type": "ordinal", "values": [1, 2], "taxonomy": [1, 2]}, "unknown key 'taxonomy'"),
        ({"type": "categorical"}, "needs `values`"),
        ({"type": "categorical", "values": ["a", "a"]}, "twice"),
        ({"type": "categorical", "values": ["a", ["b"]]}, "only text and numbers"),
        ({"type": "categorical", "values": [True, False]}, "quote yes, no"),
        ({"type": "categorical", "values": [date(2020, 1, 31)]}, "values hold 2020-01-31; .* quote it"),
        ({"type": "categorical", "values": ["a", "b"], "taxonomy": ["a"]}, "forgets"),
        ({"type": "id", "nullable": True}, "unknown key 'nullable'"),
        ({"type": "number", "min": "low", "max": 1}, "plain number"),
        ({"type": "date", "min": "2020-13-01", "max": "2021-01-01"}, "min must be a date"),
    ],
)
def test_errors_name_the_column_and_the_rule(entry: Any, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule) as caught:
        Schema.from_dict(columns(entry))
    assert str(caught.value).startswith("column 'age': ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "empty"),
        ("# nothing\n", "empty"),
        ("just words", "must be a mapping"),
        ("columns: {a: [}", "not valid YAML \\(line 1\\)"),
        ("columns:\n  a: {type: boolean}\n  a: {type: boolean}\n", "line 3: 'a' is given twice"),
        ("columns: {a: {type: integer, min: 0, min: 1, max: 9}}", "'min' is given twice"),
        ("columns: {[a, b]: {type: boolean}}", "a name must be plain text"),
        ("columns:\n  a: {type: categorical, values: [010, 020]}", "line 2: '010' .*; put it in quotes"),
        ("columns: {a: {type: categorical, values: [12:30, 13:30]}}", "line 1: '12:30' .*; put it in quotes"),
        ("columns: {a: {type: integer, min: 0, max: 1_000}}", "line 1: '1_000' .*; put it in quotes"),
        ("columns: {a: {type: number, min: 0, max: 0x1F}}", "line 1: '0x1F' .*; put it in quotes"),
        ("columns: {a: {type: date, min: 2020-02-31, max: 2021-01-01}}", "impossible date"),
        ("columns: {a: {type: categorical, values: [yes, no]}}", "quote yes, no"),
        ("columns: {a: !!python/object:os.system {}}", "not valid YAML"),
        ("columns: &a {x: *a}", "not valid YAML"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule) as caught:
        load(tmp_path, text)
    assert str(tmp_path / "s.yaml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no schema file at"):
        Schema.load(tmp_path / "none.yaml")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("columns: {é: {type: boolean}}".encode("latin-1"))
    with pytest.raises(SchemaError, match="UTF-8"):
        Schema.load(tmp_path / "latin.yaml")
    with pytest.raises(SchemaError, match="cannot be written"):
        Schema({"a": BooleanColumn()}).save(tmp_path / "no" / "such" / "folder.yaml")
