"""Schema files: YAML text in and out, refusing what YAML would silently drop."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from privbayes.core.atomic import atomic_file
from privbayes.errors import SchemaError
from privbayes.schema.base import shown

__all__ = ["dump_yaml", "read_yaml", "write_text"]

_MAX_BYTES = 64 * 2**20


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser where PyYAML has it: ten times faster


class _Loader(_SafeLoader):  # type: ignore[misc]
    """The safe loader, but a key given twice is an error and not a silent replacement."""


def _mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[object] = set()
    for key_node, _ in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise SchemaError(f"line {key_node.start_mark.line + 1}: a name must be plain text, not a list or mapping")
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue
        key = loader.construct_object(key_node)
        if key in seen:
            line = key_node.start_mark.line + 1
            raise SchemaError(f"line {line}: {shown(key)} is given twice; names must be distinct")
        seen.add(key)
    return dict(_SafeLoader.construct_mapping(loader, node, deep=True))


_PLAIN_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?|[+-]?\.(inf|nan)", re.IGNORECASE)


def _number(loader: Any, node: yaml.ScalarNode) -> int | float:
    """Numbers as people read them: YAML takes 012 for ten, 12:30 for 750 and 1_000 for a thousand."""
    if not _PLAIN_NUMBER.fullmatch(node.value):
        line = node.start_mark.line + 1
        raise SchemaError(f"line {line}: {shown(node.value)} is a number to YAML, but not this one; put it in quotes")
    whole = node.tag == "tag:yaml.org,2002:int"
    number: int | float = loader.construct_yaml_int(node) if whole else loader.construct_yaml_float(node)
    return number


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _number)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)


def read_yaml(path: Path) -> Any:
    """The plain values of a YAML file, or one line that says what is wrong with it."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise SchemaError(f"{path}: larger than {_MAX_BYTES // 2**20} MB, which no schema is")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"no schema file at {path}; write one or start from `privbayes schema draft`") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: not a UTF-8 text file") from None
    except OSError as error:
        raise SchemaError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        given = yaml.load(text, _Loader)  # a subclass of the safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1})" if mark is not None else ""
        raise SchemaError(f"{path}: not valid YAML{place}; check indentation, brackets and quotes") from None
    except (ValueError, RecursionError):  # an impossible date such as 2020-02-31, or nesting without end
        raise SchemaError(f"{path}: holds a value that YAML cannot read, such as an impossible date") from None
    if given is None:
        raise SchemaError(f"{path}: the file is empty")
    return given


def dump_yaml(schema: dict[str, Any], comment: str) -> str:
    """YAML text with a line or a short block for each column."""
    columns = {name: _with_dates(entry) for name, entry in schema["columns"].items()}
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    body = yaml.dump(
        {**schema, "columns": columns},
        Dumper=dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=110,
    )
    return head + str(body)


def _with_dates(entry: dict[str, Any]) -> dict[str, Any]:
    """Bounds as YAML dates, which need no quotes (times do: they hold colons)."""
    if entry["type"] != "date":
        return entry
    return {key: date.fromisoformat(value) if key in ("min", "max") else value for key, value in entry.items()}


def write_text(path: Path, text: str) -> None:
    """Write, whole or not at all."""
    with atomic_file(path, SchemaError) as file:
        file.write(text.encode())
