"""Compares a private table with a schema: every problem at once, each naming a column and a rule, none a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privbayes.errors import SchemaError
from privbayes.schema.schema import Schema

__all__ = ["Problem", "check_schema"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One rule of the schema that the table breaks."""

    column: str
    rule: str

    def __str__(self) -> str:
        return f"column {self.column!r}: {self.rule}"


def check_schema(source: Any, schema: Schema) -> tuple[Problem, ...]:
    """All problems of a table (a path or a frame) under a schema; empty if it fits. It reads the rows, so the answer
    is for those who may see them: it is not private.
    """
    from privbayes.encoding.values import column_codes
    from privbayes.table.source import read_table

    table = read_table(source)
    present = set(table.columns)
    problems: list[Problem] = []
    strange = present.isdisjoint(schema.columns)  # what stands for names may then be somebody's cells
    remedy = "does it begin with a line of column names?" if strange else "add it or drop it from the schema"
    for name, column in schema.columns.items():
        if name not in present:
            problems.append(Problem(column=name, rule=f"missing from the table; {remedy}"))
        elif column.modelled:
            try:
                column_codes(column, table.column(name))
            except SchemaError as error:
                problems.append(Problem(column=name, rule=str(error)))
    if strange:
        return tuple(problems)
    rule = "the schema does not list this column; add it to the schema or drop it from the table"
    problems.extend(Problem(column=name, rule=rule) for name in table.columns if name not in schema.columns)
    return tuple(problems)
