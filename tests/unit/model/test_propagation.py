"""Message passing on flat arrays against the plain sum over the whole domain."""

from __future__ import annotations

import itertools
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.core.clique_tree import CliqueTree, triangulate
from privbayes.errors import UnsupportedError
from privbayes.model.propagation import Propagation

SIZES = (3, 2, 4, 2, 3, 2)
EDGES = list(itertools.combinations(range(len(SIZES)), 2))
GRAPHS = st.lists(st.sampled_from(EDGES), unique=True)


def subsets(tree: CliqueTree) -> list[tuple[int, ...]]:
    """Every set of attributes inside a clique."""
    found = {s for c in tree.cliques for k in range(1, len(c) + 1) for s in itertools.combinations(c, k)}
    return sorted(found)


def full_product(slots: list[tuple[int, ...]], tables: list[np.ndarray]) -> np.ndarray:
    total = np.zeros(SIZES)
    for slot, table in zip(slots, tables, strict=True):
        ordered = np.transpose(table, np.argsort(slot))
        total += np.expand_dims(ordered, tuple(a for a in range(len(SIZES)) if a not in slot))
    return np.exp(total)


@settings(max_examples=40, deadline=None)
@given(GRAPHS, st.integers(0, 2**32 - 1))
def test_marginals_and_log_z_are_those_of_the_whole_domain(edges: list[tuple[int, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = CliqueTree.of(triangulate(SIZES, edges), SIZES)
    engine = Propagation(tree, SIZES)
    slots = engine.slots(subsets(tree))
    potentials = rng.normal(0, 1.5, slots.cells)
    tables = [slots.table(potentials, s) for s in range(len(slots.attributes))]
    full = full_product(list(slots.attributes), tables)
    assert engine.infer(engine.log_weights(slots, potentials)) == pytest.approx(log(full.sum()), abs=1e-9)
    share = full / full.sum()
    found = engine.marginals(slots)
    for members in subsets(tree):
        expected = share.sum(axis=tuple(a for a in range(len(SIZES)) if a not in members))
        np.testing.assert_allclose(slots.over(found, members), expected, atol=1e-12)
    for clique, table in zip(tree.cliques, engine.clique_tables(), strict=True):
        expected = share.sum(axis=tuple(a for a in range(len(SIZES)) if a not in clique))
        np.testing.assert_allclose(table, expected, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(GRAPHS, st.integers(0, 2**32 - 1), st.integers(0, len(SIZES) - 1))
def test_clamped_marginals_are_conditional_ones(edges: list[tuple[int, int]], seed: int, attribute: int) -> None:
    rng = np.random.default_rng(seed)
    tree = CliqueTree.of(triangulate(SIZES, edges), SIZES)
    engine = Propagation(tree, SIZES)
    inside = engine.slots(subsets(tree))
    potentials = rng.normal(0, 1.5, inside.cells)
    full = full_product(list(inside.attributes), [inside.table(potentials, s) for s in range(len(inside.attributes))])
    weights = engine.log_weights(inside, potentials)
    ones = engine.slots([(a,) for a in range(len(SIZES))])
    for value, tables in enumerate(engine.given_each_value(weights, attribute, ones)):
        share = np.take(full, [value], axis=attribute)
        share = share / share.sum()
        for a in set(range(len(SIZES))) - {attribute}:
            expected = share.sum(axis=tuple(b for b in range(len(SIZES)) if b != a))
            np.testing.assert_allclose(ones.over(tables, (a,)), expected, atol=1e-12)


def test_values_without_any_weight_have_no_probability_and_break_nothing() -> None:
    tree = CliqueTree.of([(0, 1), (1, 2), (3,), (4,), (5,)], SIZES)
    engine = Propagation(tree, SIZES)
    slots = engine.slots([(1,), (0, 1), (1, 2)])
    potentials = np.zeros(slots.cells)
    slots.over(potentials, (1,))[0] = -np.inf
    engine.infer(engine.log_weights(slots, potentials))
    found = engine.marginals(slots)
    np.testing.assert_allclose(slots.over(found, (1,)), [0.0, 1.0])
    np.testing.assert_allclose(slots.over(found, (2, 1)), np.outer(np.full(4, 0.25), [0.0, 1.0]), atol=1e-12)


def test_a_table_of_many_separate_parts_of_a_clique() -> None:
    sizes = (2,) * 9
    engine = Propagation(CliqueTree((tuple(range(9)),), (-1,)), sizes)
    slots = engine.slots([(0, 2, 4, 6, 8), (1, 3, 5, 7), (0, 1, 3, 4, 6, 8)])
    potentials = np.random.default_rng(5).normal(size=slots.cells)
    full = np.zeros(sizes)
    for s, members in enumerate(slots.attributes):
        table = slots.table(potentials, s)
        full += np.expand_dims(table, tuple(a for a in range(9) if a not in members))
    share = np.exp(full) / np.exp(full).sum()
    assert engine.infer(engine.log_weights(slots, potentials)) == pytest.approx(log(np.exp(full).sum()))
    for s, members in enumerate(slots.attributes):
        expected = share.sum(axis=tuple(a for a in range(9) if a not in members))
        np.testing.assert_allclose(slots.table(engine.marginals(slots), s), expected, atol=1e-12)


def test_tables_outside_a_clique_and_cliques_over_the_limit_are_refused() -> None:
    tree = CliqueTree.of([(0, 1), (2, 3, 4, 5)], SIZES)
    with pytest.raises(ValueError, match="inside a clique"):
        Propagation(tree, SIZES).slots([(0, 2)])
    with pytest.raises(UnsupportedError, match="54 cells, over the limit of 50"):
        Propagation(tree, SIZES, max_cells=50)


@pytest.mark.parametrize(
    ("sizes", "cliques"),
    [
        ((3, 2, 4, 2), [(0, 1), (1, 2), (2, 3)]),  # a chain
        ((3, 2, 2, 2), [(0, 1), (0, 2), (0, 3)]),  # a star
        ((2, 3, 2, 2), [(0, 1, 3), (1, 2, 3)]),  # a cycle, triangulated
        ((2, 3, 2, 3), [(0, 1), (2, 3)]),  # two components
        ((5,), [(0,)]),  # a single attribute
        ((1,), [(0,)]),
        ((1, 3, 1, 2), [(0, 1), (1, 2, 3)]),  # values of one
        ((2, 2, 2), [(0, 1, 2)]),  # one clique
    ],
)
@pytest.mark.parametrize("spread", [1.0, 200.0])
def test_every_awkward_tree(sizes: tuple[int, ...], cliques: list[tuple[int, ...]], spread: float) -> None:
    """Also with log weights so far apart that their exponentials are nothing or everything."""
    tree = CliqueTree.of(cliques, sizes)
    engine, other = Propagation(tree, sizes), Propagation(tree, sizes)
    slots = engine.slots(subsets(tree))
    potentials = np.random.default_rng(8).normal(0, spread, slots.cells)
    logs = np.zeros(sizes)
    for s, members in enumerate(slots.attributes):
        table = np.transpose(slots.table(potentials, s), np.argsort(members))
        logs += np.expand_dims(table, tuple(a for a in range(len(sizes)) if a not in members))
    share = np.exp(logs - logs.max())
    weights = engine.log_weights(slots, potentials)
    assert engine.infer(weights) == pytest.approx(logs.max() + log(share.sum()), rel=1e-9)
    found = engine.marginals(slots)
    for members in subsets(tree):
        expected = share.sum(axis=tuple(a for a in range(len(sizes)) if a not in members)) / share.sum()
        np.testing.assert_allclose(slots.over(found, members), expected, atol=1e-9)
    other.infer(-weights)  # what an engine did before leaves no trace
    other.infer(weights)
    assert np.array_equal(other.marginals(slots), found)


def test_no_weight_at_all_is_told() -> None:
    tree = CliqueTree.of([(0, 1), (1, 2), (3,), (4,), (5,)], SIZES)
    engine = Propagation(tree, SIZES)
    slots = engine.slots([(0, 1), (1, 2)])
    potentials = np.zeros(slots.cells)
    slots.over(potentials, (0, 1))[:, 0] = -np.inf
    slots.over(potentials, (1, 2))[1] = -np.inf
    assert engine.infer(engine.log_weights(slots, potentials)) == -np.inf
    potentials[:] = -np.inf
    assert engine.infer(engine.log_weights(slots, potentials)) == -np.inf


@pytest.mark.parametrize("members", [(), (0, 9), (7,)])
def test_what_is_no_set_of_attributes_of_a_clique_is_refused(members: tuple[int, ...]) -> None:
    engine = Propagation(CliqueTree.of([(0, 1), (2, 3, 4, 5)], SIZES), SIZES)
    assert engine.home(members) is None
    with pytest.raises(ValueError, match="inside a clique"):
        engine.slots([members])
