"""Distances between tables of codes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from privbayes.report.metrics import marginal, marginal_distance, mean_distance, total_variation


def test_total_variation_of_equal_disjoint_and_half_shared_tables() -> None:
    assert total_variation(np.array([2, 2]), np.array([50, 50])) == 0.0
    assert total_variation(np.array([7, 0]), np.array([0, 1])) == 1.0
    assert total_variation(np.array([1, 1, 0]), np.array([0, 1, 1])) == 0.5


def test_a_table_without_weight_counts_as_uniform() -> None:
    assert total_variation(np.zeros(4), np.ones(4)) == 0.0
    assert total_variation(np.zeros(4), np.array([1, 0, 0, 0])) == 0.75


def test_tables_over_different_cells_are_refused() -> None:
    with pytest.raises(ValueError, match="shapes"):
        total_variation(np.ones(3), np.ones(4))


def test_a_marginal_counts_rows_with_the_last_column_moving_fastest() -> None:
    a, b = np.array([0, 1, 1, 1], np.uint8), np.array([2, 0, 2, 2], np.uint8)
    assert marginal([a, b], [2, 3]).tolist() == [0, 0, 1, 1, 0, 2]
    assert marginal([b, a], [3, 2]).tolist() == [0, 1, 0, 0, 1, 2]


def test_distances_agree_with_histograms_made_another_way() -> None:
    rng = np.random.default_rng(0)
    sizes = [2, 3, 5]
    first = [rng.integers(0, size, 400).astype(np.uint8) for size in sizes]
    second = [rng.integers(0, size, 300).astype(np.uint8) for size in sizes]
    pairs = list(combinations(range(3), 2))

    def slowly(axes: tuple[int, ...]) -> float:
        shape = [sizes[axis] for axis in axes]
        cells = np.ndindex(*shape)
        return 0.5 * sum(
            abs(
                np.mean(np.all([first[x] == v for x, v in zip(axes, cell, strict=True)], axis=0))
                - np.mean(np.all([second[x] == v for x, v in zip(axes, cell, strict=True)], axis=0))
            )
            for cell in cells
        )

    for axes in [*pairs, (1,), (0, 1, 2)]:
        assert marginal_distance(first, second, sizes, axes) == pytest.approx(slowly(axes))
    assert mean_distance(first, second, sizes, pairs) == pytest.approx(np.mean([slowly(axes) for axes in pairs]))
    with pytest.raises(ValueError, match="no marginal"):
        mean_distance(first, second, sizes, [])
