"""Taxonomies: levels by cutting the tree, and what a taxonomy must hold."""

from __future__ import annotations

import pytest

from privbayes.errors import SchemaError
from privbayes.schema.columns import CategoricalColumn

VALUES = ("a", "b", "c", "d", "e")


def levels(taxonomy: object, **options: bool) -> tuple[tuple[int, ...], ...]:
    return CategoricalColumn(values=VALUES, taxonomy=taxonomy, **options).levels()  # type: ignore[arg-type]


def test_level_i_cuts_the_tree_at_depth_h_minus_i() -> None:
    # Depth 3: level 1 merges the deepest group only, level 2 has the children of the root.
    assert levels([[["a", "b"], "c"], ["d", "e"]]) == ((0, 1, 2, 3, 4), (0, 0, 1, 2, 3), (0, 0, 0, 1, 1))


def test_a_leaf_above_the_cut_stands_for_itself() -> None:
    assert levels([[["a", "b"], "c"], "d", "e"]) == ((0, 1, 2, 3, 4), (0, 0, 1, 2, 3), (0, 0, 0, 1, 2))


def test_groups_are_numbered_in_the_order_of_the_values() -> None:
    assert levels([["d", "e"], ["c", "a"], "b"])[1] == (0, 1, 0, 2, 2)


def test_other_and_missing_are_leaves_below_the_root() -> None:
    assert levels([["a", "b", "c"], ["d", "e"]], other=True, nullable=True)[-1] == (0, 0, 0, 1, 1, 2, 3)


def test_levels_that_merge_nothing_or_everything_are_dropped() -> None:
    assert levels([["a"], "b", "c", "d", "e"]) == ((0, 1, 2, 3, 4),)
    assert levels([["a", "b", "c", "d", "e"]]) == ((0, 1, 2, 3, 4),)
    assert levels([[["a", "b"], ["c", "d", "e"]]]) == ((0, 1, 2, 3, 4), (0, 0, 1, 1, 1))


def test_without_a_taxonomy_there_is_nothing_to_generalise() -> None:
    assert CategoricalColumn(values=VALUES, nullable=True).levels() == ((0, 1, 2, 3, 4, 5),)


def test_leaves_match_values_by_their_text() -> None:
    column = CategoricalColumn(values=(1, 2, 3), taxonomy=(("1", "2"), 3))
    assert column.taxonomy == ((1, 2), 3)


@pytest.mark.parametrize(
    ("taxonomy", "rule"),
    [
        ([["a", "b"], "c", "d"], "forgets the value 'e'"),
        (["a"], "forgets the value 'b' and 3 more"),
        ([["a", "b"], "c", "d", "e", "x"], "names 'x', which is not among the values"),
        ([["a", "b"], ["a", "c"], "d", "e"], "names 'a' twice"),
        ([["a", "b"], [], "c", "d", "e"], "empty group"),
        ([], "must be a list"),
        ("abcde", "must be a list"),
        ({"top": ["a", "b"]}, "must be a list"),
        ([{"top": ["a", "b"]}, "c"], "only values and lists"),
        ([["a", True], "c"], "quote yes, no"),
        ([["a", None], "c"], "only values and lists"),
    ],
)
def test_what_a_taxonomy_refuses(taxonomy: object, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule):
        levels(taxonomy)


def test_a_bottomless_taxonomy_is_refused() -> None:
    tree: list[object] = list(VALUES)
    for _ in range(5000):
        tree = [tree]
    with pytest.raises(SchemaError, match="nested more than"):
        levels(tree)
