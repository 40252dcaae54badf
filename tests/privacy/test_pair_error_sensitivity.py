"""The vector of pair errors: what one row can do to it, on every small table, against random released references."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from privbayes.core.domain import Attribute, Domain
from privbayes.counts.memory import MemoryBackend
from privbayes.structure.pair_errors import (
    GRID,
    errors_against,
    exact_errors,
    pair_error_sensitivity,
    total_error_sensitivity,
)

SIZES = (2, 2, 3)
DOMAIN = Domain(tuple(Attribute.flat(f"x{i}", size) for i, size in enumerate(SIZES)))
TABLES = list(itertools.combinations(range(3), 2))
ROWS = list(itertools.product(*map(range, SIZES)))


TRIPLE = (0, 1, 2)


def errors(rows: tuple[tuple[int, ...], ...], columns: list[np.ndarray], total: float) -> np.ndarray:
    codes = np.array(rows, np.uint8).reshape(-1, 3)
    backend = MemoryBackend(DOMAIN, [np.ascontiguousarray(column) for column in codes.T], threads=1)
    pairs = exact_errors(backend, TABLES, columns, total)
    skewed = np.arange(12) % 5 * total  # a triple is compared with any released counts, not only with a product
    reference = np.rint(GRID * (skewed if total != 3 else 3 * np.eye(12)[0])).astype(np.int64)
    return np.append(pairs, errors_against(backend, [TRIPLE], lambda _: reference))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_no_row_moves_the_vector_past_its_bound(neighbours: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.dirichlet(np.ones(size) * 0.5) for size in SIZES]
    total = float(rng.uniform(0.3, 4.0))
    if seed == 0:  # the reference is a table of three equal rows, from which any change leads away
        columns, total = [np.eye(size)[0] for size in SIZES], 3.0
    found = {
        rows: errors(rows, columns, total)
        for n in range(1, 4)
        for rows in itertools.combinations_with_replacement(ROWS, n)
    }
    bound = pair_error_sensitivity(neighbours, len(TABLES) + 1)  # type: ignore[arg-type]
    all_at_once = total_error_sensitivity(neighbours, len(TABLES) + 1)  # type: ignore[arg-type]
    worst, worst_sum = np.zeros(3), 0
    for rows, before in found.items():
        for row in ROWS:
            others = [rows[:i] + rows[i + 1 :] for i in range(len(rows))] if neighbours == "replace" else [rows]
            for rest in set(others):
                after = found.get(tuple(sorted((*rest, row))))
                if after is not None:
                    change = np.abs(after - before)
                    worst_sum = max(worst_sum, abs(int(after.sum()) - int(before.sum())))
                    worst = np.maximum(worst, [change.sum(), (change**2).sum(), change.max()])
    assert bound.l1 is not None
    assert bound.l2_squared is not None
    assert bound.linf is not None
    assert all_at_once.linf is not None
    assert worst_sum <= all_at_once.linf
    assert np.all(worst <= [bound.l1, bound.l2_squared, bound.linf])
    if seed == 0:
        np.testing.assert_array_equal(worst, [bound.l1, bound.l2_squared, bound.linf])
        assert worst_sum == all_at_once.linf
