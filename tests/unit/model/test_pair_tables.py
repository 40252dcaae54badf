"""Tables of all pairs of a tree against the whole domain, and what a purchase besides the tree does to them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.core.clique_tree import CliqueTree, triangulate
from privbayes.core.pairs import Pairs
from privbayes.core.residuals import centred
from privbayes.model.observations import Observation
from privbayes.model.pair_tables import correct, model_pairs, rake
from privbayes.model.propagation import Propagation

SIZES = (3, 2, 4, 1, 2, 3)
EDGES = list(itertools.combinations(range(len(SIZES)), 2))
PAIRS = Pairs.of(SIZES, most_cells=1e6, most_in_all=1e6)


def full_joint(engine: Propagation, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random log weights of the cliques, and the distribution they define."""
    slots = engine.slots(engine.cliques)
    potentials = np.random.default_rng(seed).normal(0, 1.5, slots.cells)
    logs = np.zeros(SIZES)
    for s, members in enumerate(slots.attributes):
        table = np.transpose(slots.table(potentials, s), np.argsort(members))
        logs += np.expand_dims(table, tuple(a for a in range(len(SIZES)) if a not in members))
    return engine.log_weights(slots, potentials), np.exp(logs) / np.exp(logs).sum()


def pair_of(full: np.ndarray, a: int, b: int) -> np.ndarray:
    return full.sum(axis=tuple(c for c in range(full.ndim) if c not in (a, b)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(EDGES), unique=True), st.integers(0, 2**32 - 1))
def test_every_pair_inside_a_clique_or_not_is_exact(edges: list[tuple[int, int]], seed: int) -> None:
    engine = Propagation(CliqueTree.of(triangulate(SIZES, edges), SIZES), SIZES)
    weights, full = full_joint(engine, seed)
    flat = model_pairs(engine, weights, PAIRS)
    for k, (a, b) in enumerate(PAIRS.members):
        np.testing.assert_allclose(PAIRS.table(flat, k), pair_of(full, a, b), atol=1e-12)
    # The engine is left as if nothing had been fixed.
    ones = engine.slots([(a,) for a in range(len(SIZES))])
    found = engine.marginals(ones)
    for a in range(len(SIZES)):
        expected = full.sum(axis=tuple(c for c in range(full.ndim) if c != a))
        np.testing.assert_allclose(ones.over(found, (a,)), expected, atol=1e-12)


def test_only_the_pairs_that_are_kept_are_made() -> None:
    kept = Pairs.of(SIZES, most_cells=8, most_in_all=1e6)
    engine = Propagation(CliqueTree.of([(0, 1), (1, 2), (3,), (4, 5)], SIZES), SIZES)
    weights, full = full_joint(engine, 1)
    flat = model_pairs(engine, weights, kept)
    assert (0, 2) not in kept.members
    for k, (a, b) in enumerate(kept.members):
        np.testing.assert_allclose(kept.table(flat, k), pair_of(full, a, b), atol=1e-12)


def bought(counts: np.ndarray, **changes: object) -> Observation:
    whole = Observation(attributes=(0, 2), table=counts, variance=1e-6, centred=False)
    return replace(whole, **changes)  # type: ignore[arg-type]


def independent(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of independent columns, and counts of a linked pair with the same columns."""
    rng = np.random.default_rng(seed)
    columns = [rng.dirichlet(np.full(size, 4.0)) for size in SIZES]
    flat = np.concatenate([np.outer(columns[a], columns[b]).ravel() for a, b in PAIRS.members])
    linked = rake(np.outer(columns[0], columns[2]) * rng.gamma(1.0, size=(3, 4)), columns[0], columns[2], 500)
    return flat, 1000 * linked


@pytest.mark.parametrize("form", ["counts", "residual"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_purchase_without_noise_replaces_the_model_and_keeps_its_columns(form: str, turned: bool) -> None:
    flat, counts = independent(0)
    before = flat.copy()
    one = bought(counts) if form == "counts" else bought(centred(counts), centred=True)
    if turned:
        one = replace(one, attributes=(2, 0), table=one.table.T)
    correct(PAIRS, flat, 1000.0, [one])
    place = int(PAIRS.place[0, 2])
    found = PAIRS.table(flat, place)
    np.testing.assert_allclose(found, counts / 1000, atol=2e-3)
    np.testing.assert_allclose(found.sum(axis=0), PAIRS.table(before, place).sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), PAIRS.table(before, place).sum(axis=1), atol=1e-6)
    others = np.ones(len(flat), bool)
    others[PAIRS.start[place] : PAIRS.start[place + 1]] = False
    assert np.array_equal(flat[others], before[others])


def test_a_purchase_that_shows_no_more_than_its_noise_changes_nothing() -> None:
    flat, counts = independent(1)
    before = flat.copy()
    correct(PAIRS, flat, 1000.0, [bought(centred(counts), centred=True, variance=1e6)])
    np.testing.assert_allclose(flat, before, atol=1e-9)


def test_a_coarse_purchase_moves_groups_and_keeps_the_odds_inside_them() -> None:
    flat, counts = independent(2)
    groups = (np.array([0, 0, 1]), np.array([0, 1, 1, 0]))
    coarse = np.zeros((2, 2))
    np.add.at(coarse, np.ix_(*groups), counts)
    correct(PAIRS, flat, 1000.0, [bought(coarse, groups=groups)])
    found = PAIRS.table(flat, int(PAIRS.place[0, 2]))
    grouped = np.zeros((2, 2))
    np.add.at(grouped, np.ix_(*groups), found)
    np.testing.assert_allclose(grouped, coarse / 1000, atol=2e-3)
    # Inside a block of groups the columns were independent, and still are.
    assert found[0, 0] * found[1, 3] == pytest.approx(found[1, 0] * found[0, 3], rel=1e-9)


def test_raking_keeps_odds_ratios_and_reaches_the_shares() -> None:
    rng = np.random.default_rng(5)
    table, rows, columns = rng.gamma(1.0, size=(3, 4)), rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4))
    found = rake(table, rows, columns, 500)
    np.testing.assert_allclose(found.sum(axis=1), rows, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), columns, atol=1e-9)
    odds = table[0, 0] * table[2, 3] / (table[0, 3] * table[2, 0])
    assert found[0, 0] * found[2, 3] / (found[0, 3] * found[2, 0]) == pytest.approx(odds)
