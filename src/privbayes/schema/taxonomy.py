"""Generalisations: a taxonomy or a binary tree over declared values, turned into levels of codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from privbayes.errors import SchemaError
from privbayes.schema.base import Value, is_integer, shown

__all__ = ["Taxonomy", "binary_tree_levels", "parse_taxonomy", "taxonomy_levels"]

Taxonomy = tuple[Any, ...]
"""Nested tuples whose leaves are declared values; the outermost tuple is the root."""

_MAX_DEPTH = 64


def parse_taxonomy(given: object, values: Sequence[Value]) -> Taxonomy:
    """Nested lists as nested tuples, after checking that every declared value is named exactly once."""
    if not isinstance(given, (list, tuple)) or not given:
        raise SchemaError("taxonomy must be a list of values and of lists of values, such as [[a, b], c]")
    tree = _frozen(given, 1)
    # 1, 1.0 and "1" read the same in a text file, so a leaf is matched with its value by text.
    declared = {str(value): value for value in values}
    seen: set[str] = set()
    for leaf in _leaves(tree):
        text = str(leaf)
        if text not in declared:
            raise SchemaError(f"taxonomy names {shown(leaf)}, which is not among the values; add it there or drop it")
        if text in seen:
            raise SchemaError(f"taxonomy names {shown(leaf)} twice; each value has one place in the tree")
        seen.add(text)
    forgotten = [value for value in values if str(value) not in seen]
    if forgotten:
        more = f" and {len(forgotten) - 1} more" if len(forgotten) > 1 else ""
        raise SchemaError(f"taxonomy forgets the value {shown(forgotten[0])}{more}; every value must be in the tree")
    return _with_values(tree, declared)


def _frozen(node: Sequence[object], depth: int) -> Taxonomy:
    if depth > _MAX_DEPTH:
        raise SchemaError(f"taxonomy is nested more than {_MAX_DEPTH} levels deep")
    children: list[object] = []
    for child in node:
        if isinstance(child, (list, tuple)):
            if not child:
                raise SchemaError("taxonomy holds an empty group; drop it")
            children.append(_frozen(child, depth + 1))
        elif isinstance(child, (str, float)) or is_integer(child):
            children.append(child)
        elif isinstance(child, bool):
            raise SchemaError(f"taxonomy names the boolean {child}; quote yes, no, on and off")
        else:
            raise SchemaError(f"taxonomy holds {shown(child)}; only values and lists of values are allowed")
    return tuple(children)


def _leaves(node: Taxonomy) -> Iterable[Value]:
    for child in node:
        if isinstance(child, tuple):
            yield from _leaves(child)
        else:
            yield child


def _with_values(node: Taxonomy, declared: dict[str, Value]) -> Taxonomy:
    return tuple(_with_values(c, declared) if isinstance(c, tuple) else declared[str(c)] for c in node)


def taxonomy_levels(tree: Taxonomy, values: Sequence[Value], extras: int) -> tuple[tuple[int, ...], ...]:
    """Levels of a taxonomy of depth H: level i cuts the tree at depth H - i, a leaf above the cut stands for itself.

    The top level has the children of the root. `extras` codes (other, missing) follow the values as leaves below the
    root. A level that merges nothing more, or merges all values into one, is left out.
    """
    paths: dict[str, tuple[int, ...]] = {}

    def walk(node: Taxonomy, path: tuple[int, ...]) -> None:
        for place, child in enumerate(node):
            if isinstance(child, tuple):
                walk(child, (*path, place))
            else:
                paths[str(child)] = (*path, place)

    walk(tree, ())
    ordered = [paths[str(value)] for value in values]
    height = max(len(path) for path in ordered)
    cuts = ([path[:depth] for path in ordered] for depth in range(height - 1, 0, -1))
    return _levels(cuts, len(values), extras)


def binary_tree_levels(n_values: int, extras: int) -> tuple[tuple[int, ...], ...]:
    """Levels of a binary tree over ordered values: level i has the groups code >> i, down to two groups."""
    shifts = range(1, max(n_values - 1, 0).bit_length())
    return _levels(([code >> shift for code in range(n_values)] for shift in shifts), n_values, extras)


def _levels(cuts: Iterable[Sequence[object]], n_values: int, extras: int) -> tuple[tuple[int, ...], ...]:
    """Number the groups of each cut by first appearance and append a group of its own for each extra code."""
    levels = [tuple(range(n_values + extras))]
    groups = n_values
    for cut in cuts:
        numbers: dict[object, int] = {}
        codes = [numbers.setdefault(group, len(numbers)) for group in cut]
        if 1 < len(numbers) < groups:
            groups = len(numbers)
            levels.append((*codes, *range(groups, groups + extras)))
    return tuple(levels)
