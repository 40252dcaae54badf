"""The schema: every column of a table in order, with all that is public about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from privbayes.errors import SchemaError
from privbayes.schema.columns import Column
from privbayes.schema.parse import check_column_name, check_rows_per_person, parse_schema

__all__ = ["Schema"]


@dataclass(frozen=True, eq=False)
class Schema:
    """What is public about a table. Equal schemas have equal columns in the same order and the same rows per person."""

    columns: Mapping[str, Column]
    """Every column of the table, in order."""
    rows_per_person: int = 1
    """The most rows one person may have; scales what the guarantee must hide."""
    comment: str = field(default="", kw_only=True)
    """Lines put above the schema when it is written; no part of its meaning."""

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise SchemaError("`columns` must be a mapping from column names to columns")
        for name, column in self.columns.items():
            check_column_name(name)
            if not isinstance(column, Column):
                raise SchemaError(f"column {name!r}: must be a Column; use Schema.from_dict for plain values")
        if not self.columns:
            raise SchemaError("`columns` is empty; a schema needs at least one column")
        check_rows_per_person(self.rows_per_person)
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        if not self.modelled:
            raise SchemaError("every column is an id, so there is nothing to model; add a column of another type")

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a YAML (or JSON) schema file."""
        from privbayes.schema.yamlfile import read_yaml

        try:
            return cls.from_dict(read_yaml(Path(path)))
        except SchemaError as error:
            text = str(error)
        raise SchemaError(text if str(path) in text else f"{path}: {text}")

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Schema:
        """Build from plain values, as `to_dict` gives them and a schema file holds them."""
        columns, rows_per_person = parse_schema(given)
        return cls(columns, rows_per_person)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON, that `from_dict` reads back."""
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        return {"rows_per_person": self.rows_per_person, "columns": columns}

    def to_yaml(self) -> str:
        """The text of a schema file."""
        from privbayes.schema.yamlfile import dump_yaml

        return dump_yaml(self.to_dict(), self.comment)

    def save(self, path: str | Path) -> None:
        """Write a schema file; what stood there before is replaced only once the new file is whole."""
        from privbayes.schema.yamlfile import write_text

        write_text(Path(path), self.to_yaml())

    @cached_property
    def modelled(self) -> tuple[str, ...]:
        """Names of all columns but ids."""
        return tuple(name for name, column in self.columns.items() if column.modelled)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        mine, theirs = tuple(self.columns.items()), tuple(other.columns.items())
        return mine == theirs and self.rows_per_person == other.rows_per_person

    def __hash__(self) -> int:
        return hash((tuple(self.columns), self.rows_per_person))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.to_dict(), self.comment)


def _rebuilt(given: dict[str, Any], comment: str) -> Schema:
    columns, rows_per_person = parse_schema(given)
    return Schema(columns, rows_per_person, comment=comment)
