"""Rows moved toward tables of two and three columns: the bookkeeping is exact, and no move makes things worse."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.sample.goals import Goals
from privbayes.sample.row_kernels import count_cells, polish

Sets = list[tuple[int, ...]]


def counted(codes: np.ndarray, sizes: list[int], sets: Sets) -> np.ndarray:
    """The slow way."""
    tables = []
    for members in sets:
        table = np.zeros([sizes[a] for a in members])
        np.add.at(table, tuple(codes[:, a] for a in members), 1)
        tables.append(table.ravel())
    return np.concatenate(tables)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 4), min_size=3, max_size=5), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_polishing_never_raises_the_distance_and_keeps_its_counts_right(sizes: list[int], rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets: Sets = [*combinations(range(len(sizes)), 2), *list(combinations(range(len(sizes)), 3))[::2]]
    codes = np.stack([rng.integers(0, size, rows) for size in sizes], axis=1).astype(np.int32)
    other = np.stack([rng.integers(0, size, rows) for size in sizes], axis=1)
    worth = rng.uniform(0.1, 3, len(sets))
    goals = Goals.of(sizes, sets, counted(other, sizes, sets) / rows, worth)
    cells = goals.cells(rows)
    count_cells(np.ascontiguousarray(codes.T), goals.first, goals.entries, cells)
    np.testing.assert_allclose(cells[:, 0], counted(codes, sizes, sets) - counted(other, sizes, sets), atol=1e-9)

    def distance() -> float:
        return float((cells[:, 1] * cells[:, 0] ** 2).sum())

    before = distance()
    lengths = np.array(sizes, np.int64)
    moved = polish(
        codes, lengths, goals.first, goals.entries, cells, rng.permutation(rows), rng.permutation(len(sizes))
    )
    np.testing.assert_allclose(cells[:, 0], counted(codes, sizes, sets) - counted(other, sizes, sets), atol=1e-6)
    assert distance() < before if moved else distance() == before
    assert codes.min() >= 0
    assert np.all(codes < lengths)


@pytest.mark.parametrize("heavy", [0, 1])
def test_what_counts_more_is_met_more_closely(heavy: int) -> None:
    """Two pairs of columns that cannot both be met: what their third column is told of the others contradicts."""
    sizes, sets = [2, 2, 2], [(0, 2), (1, 2)]
    rows = 200
    codes = np.zeros((rows, 3), np.int32)
    codes[: rows // 2, 2] = 1
    same, opposite = np.array([0.5, 0, 0, 0.5]), np.array([0.1, 0.9, 0, 0])
    worth = np.array([1.0, 1.0])
    worth[heavy] = 50.0
    goals = Goals.of(sizes, sets, np.concatenate([same, opposite]), worth)
    cells = goals.cells(rows)
    count_cells(np.ascontiguousarray(codes.T), goals.first, goals.entries, cells)
    rng = np.random.default_rng(0)
    for _ in range(5):
        polish(codes, np.array(sizes), goals.first, goals.entries, cells, rng.permutation(rows), rng.permutation(3))
    missed = np.abs(cells[:, 0]).reshape(2, 4).sum(axis=1)
    assert missed[heavy] < 0.1 * missed[1 - heavy]
