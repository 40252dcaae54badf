"""The dependency graph: what is on offer, what a threshold is, and what released scores become."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.core.domain import Attribute, Domain
from privbayes.counts.memory import MemoryBackend
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.noise import ScriptedNoise
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.clique_room import CliqueRoom
from privbayes.structure.dependency import (
    dependency_threshold,
    draw_graph,
    exact_excess,
    link_best,
    measure_graph,
)


def backend(codes: list[np.ndarray], sizes: list[int]) -> MemoryBackend:
    domain = Domain(tuple(Attribute.flat(f"a{i}", size) for i, size in enumerate(sizes)))
    return MemoryBackend(domain, [code.astype(np.uint8) for code in codes])


def chain(rows: int = 600) -> MemoryBackend:
    """b depends on a, c on b, d on nobody."""
    rng = np.random.default_rng(3)
    a = rng.integers(0, 3, rows)
    b = np.where(rng.random(rows) < 0.9, a, rng.integers(0, 3, rows))
    c = np.where(rng.random(rows) < 0.8, b, rng.integers(0, 3, rows))
    return backend([a, b, c, rng.integers(0, 2, rows)], [3, 3, 3, 2])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=4), st.integers(0, 1))
def test_a_pair_above_the_threshold_of_r_has_a_cramers_v_above_phi(rows: list[list[int]], turned: int) -> None:
    """What the docstring claims of R, on tables of 2 to 4 by 3: R <= V sqrt(min(r - 1, c - 1)) / 2."""
    table = np.array(rows, np.float64)
    table = table.T if turned else table
    if table.sum() == 0:
        return
    joint = table / table.sum()
    product = np.outer(joint.sum(1), joint.sum(0))
    r = 0.5 * np.abs(joint - product).sum()
    chi2 = ((joint - product) ** 2 / np.where(product > 0, product, 1)).sum()
    v = np.sqrt(chi2 / (min(table.shape) - 1))
    assert r <= dependency_threshold("R", table.shape, v) + 1e-12


def test_thresholds_of_the_paper() -> None:
    assert dependency_threshold("I", (2, 9), 0.2) == pytest.approx(0.02)
    assert dependency_threshold("I", (5, 9), 0.2) == pytest.approx(4 * 0.02)
    assert dependency_threshold("R", (2, 2), 0.2) == pytest.approx(0.1)
    assert dependency_threshold("R", (5, 9), 0.0) == 0.0
    assert dependency_threshold("R", (500, 900), 0.2) == 1.0


@pytest.mark.parametrize(("score", "neighbours"), [("R", "replace"), ("I", "replace"), ("R", "add-remove")])
@pytest.mark.parametrize("phi", [0.0, 0.2, 0.6])
def test_the_sign_of_the_excess_says_whether_the_score_passes(score: str, neighbours: str, phi: float) -> None:
    counts = chain()
    pairs = list(itertools.combinations(range(4), 2))
    excess = exact_excess(counts, pairs, score=score, neighbours=neighbours, phi=phi, n=counts.n_rows)
    for (a, b), found in zip(pairs, excess, strict=True):
        sizes = counts.domain.cardinalities[a], counts.domain.cardinalities[b]
        joint = np.zeros(sizes)
        np.add.at(joint, (counts._columns[a], counts._columns[b]), 1 / counts.n_rows)
        product = np.outer(joint.sum(1), joint.sum(0))
        value = (
            0.5 * np.abs(joint - product).sum()
            if score == "R"
            else float((joint[joint > 0] * np.log(joint[joint > 0] / product[joint > 0])).sum())
        )
        gap = value - dependency_threshold(score, sizes, phi)
        assert abs(gap) < 1e-3 or np.sign(found) == np.sign(gap)


def room(sizes: tuple[int, ...], limit: float = 1e9) -> CliqueRoom:
    return CliqueRoom(sizes, lambda _: limit, 1e9)


def draw(counts: MemoryBackend, where: CliqueRoom, noise: ScriptedNoise, **options: object) -> Ledger:
    ledger = Ledger(PrivacyBudget(epsilon=1.0), PrivacyUnit(), noise)
    chosen = {"score": "R", "phi": 0.2, "n": counts.n_rows, "draws": 2, "tree": False, **options}
    draw_graph(counts, ledger, ledger.total / 2, where, **chosen)  # type: ignore[arg-type]
    return ledger


def test_without_noise_the_strongest_links_come_first_and_shares_are_equal() -> None:
    counts = chain()
    where = room(counts.domain.cardinalities)
    ledger = draw(counts, where, ScriptedNoise())
    assert where.edges == [(0, 1), (1, 2)]
    assert [receipt.cost for receipt in ledger.receipts] == [Fraction(1, 4)] * 2


def test_what_no_clique_has_room_for_is_not_on_offer_and_not_paid_for() -> None:
    counts = chain()
    where = room(counts.domain.cardinalities, limit=9)
    ledger = draw(counts, where, ScriptedNoise(), draws=6)
    assert all(np.prod([where.sizes[a] for a in clique]) <= 9 for clique in where.cliques)
    assert where.edges[:2] == [(0, 1), (1, 2)]
    assert len(where.edges) == 3
    # The third draw had three candidates left, all with the last attribute; a fourth would have closed a cycle.
    assert ledger.spent <= Fraction(1, 2)
    none = room(counts.domain.cardinalities, limit=5)
    assert draw(counts, none, ScriptedNoise()).spent == 0
    assert none.cliques == ((0,), (1,), (2,), (3,))


def test_a_spanning_tree_joins_components_only() -> None:
    counts = chain()
    where = room(counts.domain.cardinalities)
    ledger = draw(counts, where, ScriptedNoise(), draws=3, tree=True)
    assert len(where.edges) == 3
    assert max(len(clique) for clique in where.cliques) == 2
    assert len(ledger.receipts) == 3


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_under_zcdp_one_vector_is_bought_and_what_passes_is_linked(neighbours: str) -> None:
    counts = chain()
    ledger = Ledger(PrivacyBudget(epsilon=1.0, delta=1e-6), PrivacyUnit.of(neighbours, 1), ScriptedNoise())
    where = room(counts.domain.cardinalities)
    options = {"score": "R", "phi": 0.2, "n": counts.n_rows, "draws": None, "tree": False}
    measure_graph(counts, ledger, ledger.total / 2, where, **options)  # type: ignore[arg-type]
    (receipt,) = ledger.receipts
    assert receipt.cost == ledger.total / 2
    assert receipt.values == 6
    assert where.edges == [(0, 1), (1, 2), (0, 2)]
    assert where.cliques == ((0, 1, 2), (3,))


def test_released_scores_become_links_from_the_top() -> None:
    pairs = list(itertools.combinations(range(4), 2))
    scores = np.array([5, 9, -3, 7, 0, 1])
    by_threshold, by_number, by_tree = (room((2,) * 4) for _ in range(3))
    link_best(by_threshold, pairs, scores, draws=None, tree=False)
    assert by_threshold.edges == [(0, 2), (1, 2), (0, 1), (2, 3)]
    link_best(by_number, pairs, scores, draws=2, tree=False)
    assert by_number.edges == [(0, 2), (1, 2)]
    link_best(by_tree, pairs, scores, draws=3, tree=True)
    assert by_tree.edges == [(0, 2), (1, 2), (2, 3)]
