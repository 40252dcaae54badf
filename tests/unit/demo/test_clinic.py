"""The made-up clinic: reproducible, inside its own schema, of every column kind, and related the way it was written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from privbayes.demo.clinic import DIAGNOSES, WARDS, clinic_schema, clinic_table
from privbayes.schema.schema import Schema


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return clinic_table(20_000, seed=3)


def _leaves(tree: Any) -> list[str]:
    return [tree] if isinstance(tree, str) else [leaf for branch in tree for leaf in _leaves(branch)]


def test_the_seed_decides_the_table(table: pa.Table) -> None:
    assert clinic_table(20_000, seed=3).equals(table)
    assert not clinic_table(20_000, seed=4).equals(table)


@pytest.mark.parametrize("n_rows", [0, 1, 2, 1000])
def test_any_number_of_rows(n_rows: int) -> None:
    made = clinic_table(n_rows)
    assert made.num_rows == n_rows
    assert made.schema.equals(clinic_table(5).schema)


def test_the_schema_describes_the_table_in_its_order(table: pa.Table) -> None:
    schema = Schema.from_dict(clinic_schema())
    assert list(schema.columns) == table.column_names
    assert {column["type"] for column in clinic_schema()["columns"].values()} == {
        *("id", "integer", "categorical", "boolean", "number", "date", "datetime", "ordinal")
    }


def test_every_cell_lies_within_the_schema(table: pa.Table) -> None:
    for name, rule in clinic_schema()["columns"].items():
        column = table[name]
        assert column.null_count == 0 or rule["nullable"]
        if "min" in rule:
            low, high = (pa.scalar(rule[end]).cast(column.type).as_py() for end in ("min", "max"))
            seen = pc.min_max(column).as_py()
            assert low <= seen["min"]
            assert seen["max"] <= high
        if "values" in rule and not rule.get("other"):
            assert set(column.unique().to_pylist()) == set(rule["values"])


def test_some_cells_are_missing_where_they_may_be_and_some_insurances_are_not_listed(table: pa.Table) -> None:
    rules = clinic_schema()["columns"]
    assert {name for name in rules if rules[name].get("nullable")} == {
        name for name in table.column_names if table[name].null_count
    }
    assert set(table["insurance"].unique().to_pylist()) > set(rules["insurance"]["values"])


def test_record_numbers_are_distinct(table: pa.Table) -> None:
    assert len(table["patient_id"].unique()) == table.num_rows


def test_the_trees_hold_every_value_once() -> None:
    rules = clinic_schema()["columns"]
    assert sorted(_leaves(rules["diagnosis"]["taxonomy"])) == sorted(DIAGNOSES)
    assert sorted(_leaves(rules["ward"]["taxonomy"])) == sorted(WARDS)
    assert len(DIAGNOSES) >= 12


def test_columns_depend_on_each_other_the_way_the_network_says(table: pa.Table) -> None:
    def column(name: str) -> np.ndarray[Any, Any]:
        return table[name].to_numpy(zero_copy_only=False)

    diagnosis, severity, stay = column("diagnosis"), column("severity"), column("length_of_stay")
    assert not ((diagnosis == "Childbirth") & (column("sex") == "Male")).any()
    assert (
        column("age")[diagnosis == "Hip fracture"].mean() > 70 > 45 > column("age")[diagnosis == "Appendicitis"].mean()
    )
    assert np.nanmean(column("systolic_bp")[diagnosis == "Hypertension"]) > np.nanmean(column("systolic_bp")) + 15
    assert stay[severity == "critical"].mean() > 2 * stay[severity == "mild"].mean()
    assert column("readmitted")[severity == "critical"].mean() > 3 * column("readmitted")[severity == "mild"].mean()
