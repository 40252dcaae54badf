"""From plain values (as YAML and JSON give them) to columns, with errors that name the column and the rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

from privbayes.errors import SchemaError
from privbayes.schema.base import Column, shown
from privbayes.schema.columns import COLUMN_KINDS

__all__ = ["check_column_name", "check_rows_per_person", "parse_column", "parse_schema"]

MAX_ROWS_PER_PERSON = 1_000_000


def parse_schema(given: object) -> tuple[dict[str, Column], int]:
    """The columns in order and the rows per person."""
    if not isinstance(given, Mapping):
        raise SchemaError("a schema must be a mapping with the key `columns`")
    for key in given:
        if key not in ("columns", "rows_per_person"):
            raise SchemaError(f"unknown key {shown(key)} in the schema{_hint(key, ('columns', 'rows_per_person'))}")
    if "columns" not in given:
        raise SchemaError("the schema has no `columns`")
    entries = given["columns"]
    if not isinstance(entries, Mapping):
        raise SchemaError("`columns` must be a mapping from column names to their description")
    columns: dict[str, Column] = {}
    for name, entry in entries.items():
        check_column_name(name)
        try:
            columns[name] = parse_column(entry)
        except SchemaError as error:
            raise SchemaError(f"column {name!r}: {error}") from None
    return columns, check_rows_per_person(given.get("rows_per_person", 1))


def check_column_name(name: object) -> None:
    """A name is printable text on one line."""
    if isinstance(name, bool):
        raise SchemaError(f'a column name reads as the boolean {str(name).lower()}; quote it, as in "no"')
    if not isinstance(name, str):
        raise SchemaError(f"a column name must be text, not {shown(name)}; quote it")
    if not name or not name.isprintable():
        raise SchemaError(f"a column name must be printable text on one line, not {shown(name)}")


def check_rows_per_person(given: object) -> int:
    """At least one, and no more than any table needs."""
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise SchemaError(f"rows_per_person must be a whole number of at least 1, not {shown(given)}")
    if given > MAX_ROWS_PER_PERSON:
        raise SchemaError(f"rows_per_person must be at most {MAX_ROWS_PER_PERSON:,}; for more, join a person's rows")
    return given


def parse_column(entry: object) -> Column:
    """One column from its plain description; errors state the rule, the caller adds the name."""
    if not isinstance(entry, Mapping):
        raise SchemaError(f"a column is described by a mapping such as {{type: boolean}}, not by {shown(entry)}")
    if "type" not in entry:
        raise SchemaError(f"`type` is missing; it is one of {_listed(COLUMN_KINDS)}")
    kind = entry["type"]
    if not isinstance(kind, str) or kind not in COLUMN_KINDS:
        raise SchemaError(f"unknown type {shown(kind)}; it must be one of {_listed(COLUMN_KINDS)}")
    column_class = COLUMN_KINDS[kind]
    allowed = {field.name: field for field in fields(column_class) if kind != "id" or field.name != "nullable"}
    arguments: dict[str, Any] = {}
    for key, value in entry.items():
        if key == "type":
            continue
        if key not in allowed:
            raise SchemaError(f"unknown key {shown(key)} for type {kind}{_hint(key, tuple(allowed))}")
        arguments[key] = value
    for name, field in allowed.items():
        if field.default is MISSING and name not in arguments:
            raise SchemaError(f"type {kind} needs `{name}`")
        if name in arguments and arguments[name] is None:
            raise SchemaError(f"`{name}` is empty; give it a value or drop it")
    return column_class(**arguments)


def _hint(key: object, allowed: tuple[str, ...]) -> str:
    close = get_close_matches(key, allowed, 1) if isinstance(key, str) else []
    return f"; did you mean `{close[0]}`?" if close else f"; allowed are {_listed(allowed) or 'none but type'}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
