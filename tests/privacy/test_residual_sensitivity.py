"""Interactions of tables: what one row can do to their coordinates, on every small shape; and they come back whole."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privbayes.core.residuals import Coordinates, centred, pooled
from privbayes.measure.residuals import residual_sensitivity

SHAPES = [
    *itertools.product((1, 2, 3, 4), repeat=1),
    *itertools.product((1, 2, 3, 5), repeat=2),
    *itertools.product((1, 2, 3), repeat=3),
    (3, 2, 4),
    (4, 4, 3),
]


def coordinates_of_rows(coordinates: Coordinates) -> list[np.ndarray]:
    cells = prod(coordinates.shape)
    return [coordinates.encode(row) for row in np.eye(cells, dtype=np.int64)]


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_row_moves_the_coordinates_by_just_the_bound(shape: tuple[int, ...], pure: bool) -> None:
    """The coordinates are linear in the rows, so that the change is that of the one row, whatever the others are."""
    coordinates = Coordinates.of(shape, pure=pure)
    rows = coordinates_of_rows(coordinates)
    alone = residual_sensitivity(coordinates, "add-remove")
    assert {int(np.abs(row).sum()) for row in rows} == {alone.l1}
    assert {int((row**2).sum()) for row in rows} == {alone.l2_squared}
    moves = [a - b for a, b in itertools.permutations(rows, 2)] or [np.zeros(1, np.int64)]
    replaced = residual_sensitivity(coordinates, "replace")
    assert max(int((move**2).sum()) for move in moves) == replaced.l2_squared
    assert max(int(np.abs(move).sum()) for move in moves) <= (replaced.l1 or 0)


@pytest.mark.parametrize("pure", [True, False])
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_coordinates_come_back_as_the_interaction_part(pure: bool, shape: list[int], seed: int) -> None:
    table = np.random.default_rng(seed).integers(0, 50, shape)
    coordinates = Coordinates.of(shape, pure=pure)
    np.testing.assert_allclose(coordinates.decode(coordinates.encode(table)), centred(table.astype(float)), atol=1e-9)


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("shape", [(2,), (3,), (2, 2), (2, 4), (3, 4)])
def test_noise_comes_back_with_the_stated_variance(shape: tuple[int, ...], pure: bool) -> None:
    coordinates = Coordinates.of(shape, pure=pure)
    decode = np.array([coordinates.decode(unit).ravel() for unit in np.eye(coordinates.size)])
    projection = np.array([centred(unit.reshape(shape)).ravel() for unit in np.eye(prod(shape))])
    np.testing.assert_allclose(decode.T @ decode, coordinates.variance_factor * projection, atol=1e-12)


GROUPS = [(0, 0, 1, 2), (0, 1, 1, 0), (1, 0), (0, 1, 2)]


@pytest.mark.parametrize("groups", [*itertools.product(GROUPS, repeat=1), *itertools.product(GROUPS, repeat=2)])
def test_a_row_moves_a_table_over_groups_by_the_bound_of_its_shape(groups: tuple[tuple[int, ...], ...]) -> None:
    codes = [np.array(group) for group in groups]
    shape = tuple(int(group.max()) + 1 for group in codes)
    fine = tuple(len(group) for group in codes)
    coordinates = Coordinates.of(shape, pure=False)
    rows = [coordinates.encode(pooled(row.reshape(fine), codes)) for row in np.eye(prod(fine), dtype=np.int64)]
    assert {int((row**2).sum()) for row in rows} == {residual_sensitivity(coordinates, "add-remove").l2_squared}
    moved = max(int(((a - b) ** 2).sum()) for a, b in itertools.permutations(rows, 2))
    assert moved == residual_sensitivity(coordinates, "replace").l2_squared


@given(st.integers(0, 2**32 - 1))
def test_pooling_adds_up_the_cells_of_each_group(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 9, (4, 3))
    groups = (np.array([1, 0, 1, 2]), np.array([0, 1, 0]))
    coarse = pooled(table, groups)
    assert coarse.shape == (3, 2)
    for i, j in np.ndindex(3, 2):
        assert coarse[i, j] == table[np.ix_(groups[0] == i, groups[1] == j)].sum()
