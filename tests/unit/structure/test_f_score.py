from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.structure.f_score import joint_maximum, joint_maximum_by_dominance, score_f


def by_enumeration(c0: np.ndarray, c1: np.ndarray) -> int:
    """V over every assignment of the parent values."""
    n, best = int(c0.sum() + c1.sum()), 0
    for side in product((False, True), repeat=len(c0)):
        chosen = np.array(side)
        best = max(best, min(2 * int(c0[~chosen].sum()), n) + min(2 * int(c1[chosen].sum()), n))
    return best


def by_plain_programming(c0: np.ndarray, c1: np.ndarray) -> int:
    """V by the papers' dynamic program: the largest b for every reachable a."""
    n = int(c0.sum() + c1.sum())
    best = np.full(n + 1, -1)
    best[0] = 0
    for w, v in zip(c0.tolist(), c1.tolist(), strict=True):
        grown = np.where(best >= 0, best + v, -1)
        grown[w:] = np.maximum(grown[w:], best[: n + 1 - w])
        best = grown
    a = np.flatnonzero(best >= 0)
    return int((np.minimum(2 * a, n) + np.minimum(2 * best[a], n)).max())


def awkward(rng: np.random.Generator, kind: int, cells: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Tables that are hard in different ways: sparse, a skewed child, ties, a correlated knapsack, few huge cells."""
    if kind == 0:
        p = rng.dirichlet(np.full(2 * cells, 0.3))
    elif kind == 1:
        share, rare = rng.dirichlet(np.ones(cells)), rng.beta(0.3, 3, cells)
        p = np.concatenate([share * (1 - rare), share * rare])
    elif kind == 2:
        weight = rng.integers(1, 50, cells).astype(float)
        p = np.concatenate([weight, weight])
    elif kind == 3:
        weight = rng.integers(20, 60, cells).astype(float)
        p = np.concatenate([weight, weight - 15])
    else:
        p = rng.dirichlet(np.full(2 * cells, 0.02))
    counts = rng.multinomial(n, p / p.sum()).astype(np.int64)
    return counts[:cells], counts[cells:]


counts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=9)


@settings(max_examples=300, deadline=None)
@given(counts)
def test_all_ways_agree_on_small_tables(cells: list[tuple[int, int]]) -> None:
    c0, c1 = (np.array(side, np.int64) for side in zip(*cells, strict=True))
    exact = by_enumeration(c0, c1)
    assert joint_maximum(c0, c1) == exact
    assert joint_maximum_by_dominance(c0, c1) == exact
    assert by_plain_programming(c0, c1) == exact


@pytest.mark.parametrize("kind", range(5))
def test_fast_equals_dynamic_programming_on_larger_tables(kind: int) -> None:
    rng = np.random.default_rng(kind)
    for _ in range(150):
        c0, c1 = awkward(rng, kind, 2 ** int(rng.integers(1, 7)), int(rng.integers(1, 3000)))
        assert joint_maximum(c0, c1) == joint_maximum_by_dominance(c0, c1) == by_plain_programming(c0, c1)


def test_unbalanced_tables_with_an_odd_number_of_rows() -> None:
    """Nearly all rows hold one child value, so one side is over-full and the knapsack decides."""
    rng = np.random.default_rng(9)
    for _ in range(300):
        c0 = rng.integers(0, 30, 8)
        c1 = rng.integers(0, 1 + c0 // int(rng.integers(1, 5)))
        if (c0.sum() + c1.sum()) % 2 == 0:
            c0[0] += 1
        assert joint_maximum(c0, c1) == joint_maximum(c1, c0) == by_enumeration(c0, c1)


def test_large_counts_do_not_overflow() -> None:
    c0 = np.array([700_000_001, 299_999_999, 0, 1], np.int64)
    c1 = np.array([150_000_000, 49_999_999, 0, 0], np.int64)
    assert joint_maximum(c0, c1) == by_enumeration(c0, c1)


def test_extremes() -> None:
    """A maximum joint distribution scores 0; a constant child is as far from one as can be."""
    even = np.array([4, 0, 4, 0], np.int64)
    odd = np.array([0, 5, 0, 3], np.int64)
    assert joint_maximum(even, odd) == 2 * 16
    zero = np.zeros(4, np.int64)
    assert joint_maximum(even, zero) == 8
    assert joint_maximum(zero, zero) == 0
    assert joint_maximum_by_dominance(zero, zero) == 0


def test_scores_of_a_batch() -> None:
    rng = np.random.default_rng(2)
    tables = [awkward(rng, kind, 8, 501) for kind in range(5)]
    cells = np.concatenate([np.concatenate(table) for table in tables])
    out = np.zeros(5, np.int64)
    score_f(cells, np.arange(6) * 16, 0, 5, 0, out)
    assert out.tolist() == [joint_maximum(*table) - 2 * 501 for table in tables]
    score_f(cells, np.arange(6) * 16, 2, 4, 1, out)
    assert out[2:4].tolist() == [2 * joint_maximum(*table) - 3 * 501 for table in tables[2:4]]
