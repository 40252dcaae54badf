"""The column kinds of a schema: those with listed values here, those with bins from `binned`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

from privbayes.errors import SchemaError
from privbayes.schema.base import Column, Value, check_flag, shown
from privbayes.schema.binned import BinnedColumn, DateColumn, DatetimeColumn, IntegerColumn, NumberColumn, WholeColumn
from privbayes.schema.taxonomy import Taxonomy, binary_tree_levels, parse_taxonomy, taxonomy_levels

__all__ = [
    "COLUMN_KINDS",
    "BinnedColumn",
    "BooleanColumn",
    "CategoricalColumn",
    "Column",
    "DateColumn",
    "DatetimeColumn",
    "IdColumn",
    "IntegerColumn",
    "ListedColumn",
    "NumberColumn",
    "OrdinalColumn",
    "Value",
    "WholeColumn",
]


@dataclass(frozen=True, kw_only=True)
class BooleanColumn(Column):
    """False and true, codes 0 and 1."""

    kind: ClassVar[str] = "boolean"

    @property
    def n_values(self) -> int:
        """False and true."""
        return 2

    @cached_property
    def value_labels(self) -> tuple[str, ...]:
        """In the order of the codes."""
        return "false", "true"

    def levels(self) -> tuple[tuple[int, ...], ...]:
        """Two values do not generalise."""
        return (tuple(range(self.cardinality)),)


@dataclass(frozen=True, kw_only=True)
class ListedColumn(Column):
    """A column whose values are listed one by one. Cells match a value by its text, so no two may read the same."""

    values: tuple[Value, ...]
    other: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("other", self.other)
        object.__setattr__(self, "values", _checked_values(self.values))
        if self.other and "other" in self.value_labels:
            raise SchemaError("values list 'other' and `other: true` is set; keep one of the two")

    @property
    def n_values(self) -> int:
        """Number of listed values."""
        return len(self.values)

    @property
    def has_other(self) -> bool:
        """Whether `other: true` is declared."""
        return self.other

    @cached_property
    def value_labels(self) -> tuple[str, ...]:
        """The text of each value."""
        return tuple(str(value) for value in self.values)

    def _own_entries(self) -> dict[str, Any]:
        entries: dict[str, Any] = {"values": list(self.values)}
        if self.other:
            entries["other"] = True
        return entries


def _checked_values(given: object) -> tuple[Value, ...]:
    if not isinstance(given, (list, tuple)):
        raise SchemaError("values must be a list, such as [low, medium, high]")
    if not given:
        raise SchemaError("values must list at least one value")
    seen: set[str] = set()
    for value in given:
        if isinstance(value, bool):
            raise SchemaError(
                f'values hold the boolean {str(value).lower()}; quote yes, no, on, off, true and false, as in "yes", '
                "or use type boolean"
            )
        if value is None:
            raise SchemaError("values hold an empty entry; use `nullable: true` for missing cells")
        if not isinstance(value, (str, int, float)):
            raise SchemaError(f"values hold {shown(value)}; only text and numbers are allowed, quote it if it is text")
        if isinstance(value, float) and not math.isfinite(value):
            raise SchemaError(f"values hold {shown(value)}; only finite numbers are allowed")
        text = number_text(value)
        if text in seen:
            raise SchemaError(f"values list {shown(value)} twice, or values that read the same; list each once")
        seen.add(text)
    return tuple(given)


def number_text(value: Value) -> str:
    """The text of a value, where 2.0 reads as 2."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@dataclass(frozen=True, kw_only=True)
class CategoricalColumn(ListedColumn):
    """Values without an order, generalised along a taxonomy if one is given."""

    kind: ClassVar[str] = "categorical"

    taxonomy: Taxonomy | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.taxonomy is not None:
            object.__setattr__(self, "taxonomy", parse_taxonomy(self.taxonomy, self.values))

    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The cuts of the taxonomy; `other` and missing stand below its root."""
        if self.taxonomy is None:
            return (tuple(range(self.cardinality)),)
        return taxonomy_levels(self.taxonomy, self.values, self.cardinality - self.n_values)

    def _own_entries(self) -> dict[str, Any]:
        entries = super()._own_entries()
        if self.taxonomy is not None:
            entries["taxonomy"] = _as_lists(self.taxonomy)
        return entries


def _as_lists(node: Taxonomy) -> list[Any]:
    return [_as_lists(child) if isinstance(child, tuple) else child for child in node]


@dataclass(frozen=True, kw_only=True)
class OrdinalColumn(ListedColumn):
    """Values in order, generalised by a binary tree."""

    kind: ClassVar[str] = "ordinal"

    def levels(self) -> tuple[tuple[int, ...], ...]:
        """A binary tree over the values; `other` and missing stay apart."""
        return binary_tree_levels(self.n_values, self.cardinality - self.n_values)


@dataclass(frozen=True, kw_only=True)
class IdColumn(Column):
    """A column that names rows or people: never modelled, numbered afresh when rows are made."""

    kind: ClassVar[str] = "id"
    modelled: ClassVar[bool] = False

    prefix: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prefix is not None and (not isinstance(self.prefix, str) or not self.prefix.isprintable()):
            raise SchemaError(f"prefix must be printable text on one line, not {shown(self.prefix)}")
        if self.nullable:
            raise SchemaError("an id column is never modelled, so nullable means nothing; drop it")

    @property
    def n_values(self) -> int:
        """An id has no modelled values."""
        return 0

    @cached_property
    def value_labels(self) -> tuple[str, ...]:
        """None."""
        return ()

    def levels(self) -> tuple[tuple[int, ...], ...]:
        """None."""
        return ()

    def _own_entries(self) -> dict[str, Any]:
        return {} if self.prefix is None else {"prefix": self.prefix}


COLUMN_KINDS: Mapping[str, type[Column]] = MappingProxyType(
    {
        kind.kind: kind
        for kind in (
            BooleanColumn,
            CategoricalColumn,
            OrdinalColumn,
            IntegerColumn,
            NumberColumn,
            DateColumn,
            DatetimeColumn,
            IdColumn,
        )
    }
)
