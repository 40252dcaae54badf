"""What one row can change in a score: every small table against every neighbour, then larger ones by hill climbing."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from privbayes.core.contingency import Contingency
from privbayes.errors import UnsupportedError
from privbayes.structure.scores import information_bounds, score_batch, score_sensitivity

# Shapes of (X, Π) and the largest n of which every table is tried.
SMALL = [((2, 2), 11), ((2, 3), 7), ((3, 2), 7), ((2, 4), 5), ((3, 3), 5), ((4, 3), 4), ((1, 3), 6), ((2, 5), 4)]
LARGE = [((2, 2), 200), ((2, 4), 61), ((3, 3), 60), ((4, 4), 41), ((3, 5), 24)]
CASES = [("R", "replace"), ("R", "add-remove"), ("F", "replace"), ("F", "add-remove"), ("I", "replace")]


def all_tables(cells: int, n: int) -> np.ndarray:
    """Every table of n rows, as stars and bars."""
    bars = np.array(list(combinations(range(n + cells - 1), cells - 1)), np.int64).reshape(-1, cells - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + cells - 1)])
    return np.diff(edges, axis=1) - 1


def scores(name: str, neighbours: str, shape: tuple[int, int], tables: np.ndarray) -> np.ndarray:
    cells = shape[0] * shape[1]
    counts = Contingency(np.ascontiguousarray(tables, np.int64).ravel(), np.arange(len(tables) + 1) * cells)
    return score_batch(
        name,
        counts,
        np.full(len(tables), shape[0]),
        neighbours=neighbours,
        n=int(tables[0].sum()),
        declared_binary=np.full(len(tables), min(shape) <= 2),
    )


def changes(name: str, neighbours: str, shape: tuple[int, int], tables: np.ndarray) -> np.ndarray:
    """For each table the changes of its score to all its neighbours (of one more row under add-remove)."""
    cells = shape[0] * shape[1]
    unit = np.eye(cells, dtype=np.int64)
    before = scores(name, neighbours, shape, tables)
    found = []
    if neighbours == "add-remove":
        for added in range(cells):
            found.append(scores(name, neighbours, shape, tables + unit[added]) - before)
    else:
        for removed, added in product(range(cells), repeat=2):
            possible = tables[:, removed] > 0
            change = np.zeros(len(tables), np.int64)
            if removed != added and possible.any():
                moved = tables[possible] + unit[added] - unit[removed]
                change[possible] = scores(name, neighbours, shape, moved) - before[possible]
            found.append(change)
    return np.stack(found, axis=1)


def bound(name: str, neighbours: str, n: int) -> int:
    linf = score_sensitivity(name, neighbours=neighbours, n=n if neighbours == "replace" else None).linf  # type: ignore[arg-type]
    assert linf is not None
    return linf


@pytest.mark.parametrize(("name", "neighbours"), CASES)
def test_no_small_table_passes_the_bound(name: str, neighbours: str) -> None:
    for shape, largest in SMALL:
        if name == "F" and shape[0] != 2:
            continue
        for n in range(0 if neighbours == "add-remove" else 1, largest + 1):
            worst = int(np.abs(changes(name, neighbours, shape, all_tables(shape[0] * shape[1], n))).max())
            limit = bound(name, neighbours, n)
            assert worst <= limit, (shape, n)
            print(f"{name} {neighbours} {shape[0]}x{shape[1]} n={n}: {worst} of {limit}")


@pytest.mark.parametrize(("name", "neighbours"), CASES)
def test_hill_climbing_finds_no_larger_table_past_the_bound(name: str, neighbours: str) -> None:
    rng = np.random.default_rng(0)
    for shape, n in LARGE:
        if name == "F" and shape[0] != 2:
            continue
        cells = shape[0] * shape[1]
        tables = np.array([rng.multinomial(n, rng.dirichlet(np.full(cells, 0.3))) for _ in range(60)], np.int64)
        worst = np.abs(changes(name, neighbours, shape, tables)).max(axis=1)
        for _ in range(40):
            step = tables.copy()
            row = np.arange(len(tables))
            removed = np.argmax(rng.random(tables.shape) * (tables > 0), axis=1)
            size = np.where(rng.random(len(tables)) < 0.5, 1, 1 + tables[row, removed] // 3)
            size = np.minimum(size, tables[row, removed])
            step[row, removed] -= size
            step[row, rng.integers(0, cells, len(tables))] += size
            trial = np.abs(changes(name, neighbours, shape, step)).max(axis=1)
            better = trial >= worst
            tables[better], worst[better] = step[better], trial[better]
        limit = bound(name, neighbours, n)
        assert worst.max() <= limit, (shape, n)
        print(f"{name} {neighbours} {shape[0]}x{shape[1]} n={n}: {worst.max()} of {limit}")


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_r_is_tight_for_two_values(n: int) -> None:
    """All rows in one cell, one moves to the opposite cell: exactly 4(n - 1), tripled."""
    table = np.array([[0, 0, 0, n]])
    assert np.abs(changes("R", "replace", (2, 2), table)).max() == 12 * (n - 1) == bound("R", "replace", n)


def test_r_is_nearly_tight_in_general() -> None:
    n = 100_000_000
    root = int(np.ceil(np.sqrt(n)))
    table = np.array([[0, 0, 0, 0, 1, root, 0, root, n - 1 - 2 * root]])
    moved = table.copy()
    moved[0, 0], moved[0, 4] = 1, 0
    change = abs(int(scores("R", "replace", (3, 3), moved)[0]) - int(scores("R", "replace", (3, 3), table)[0]))
    assert 0.999 < change / bound("R", "replace", n) <= 1


def test_r_is_nearly_tight_when_rows_are_added() -> None:
    n = 1_000_000
    fresh = np.array([[0, 0, 0, n]])
    assert changes("R", "add-remove", (2, 2), fresh).max() > 0.999 * bound("R", "add-remove", n)
    root = int(n**0.6)
    crossed = np.array([[0, root, root, n]])
    assert changes("R", "add-remove", (2, 2), crossed).min() < -0.95 * bound("R", "add-remove", n)


def test_r_is_met_when_rows_are_added() -> None:
    """A row in a row and a column of its own moves nR by nearly 2; rounding down makes that the whole bound."""
    k, n = 156, 100_000_000  # so that 1024 nR = 1024 * 2 k^2 / n lies midway between integers
    assert changes("R", "add-remove", (3, 3), np.array([[0, k, 0, k, n, 0, 0, 0, 0]])).max() == bound(
        "R", "add-remove", n
    )


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_f_is_tight(n: int) -> None:
    tables = all_tables(4, n)
    assert np.abs(changes("F", "replace", (2, 2), tables)).max() == 2
    added = changes("F", "add-remove", (2, 2), tables)
    assert (added.min(), added.max()) == (-3, 3)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_i_is_tight_for_two_values(n: int) -> None:
    assert np.abs(changes("I", "replace", (2, 2), all_tables(4, n))).max() >= 2**24 - 2


@pytest.mark.parametrize(("n", "exact"), [(3, True), (4, False), (5, True)])
def test_i_is_tight_in_general_for_odd_n(n: int, exact: bool) -> None:
    worst = int(np.abs(changes("I", "replace", (3, 3), all_tables(9, n))).max())
    assert (worst >= 2**24 - 2) == exact


def test_i_has_no_bound_when_rows_are_added() -> None:
    """n I moves by ever more as n grows; this is why it is refused."""

    def information(table: np.ndarray) -> float:
        n, margins = table.sum(), table.sum(1, keepdims=True) * table.sum(0)
        full = table > 0
        return float((table[full] * np.log(n * table[full] / margins[full])).sum())

    moves = []
    for n in (10, 1000, 100_000):
        table = np.array([[0, 0], [0, n]])
        moves.append(information(table + np.array([[1, 0], [0, 0]])) - information(table))
    assert moves[0] < moves[1] - 4 < moves[2] - 8
    with pytest.raises(UnsupportedError, match="no finite bound"):
        score_sensitivity("I", neighbours="add-remove", n=None)


def test_the_bounds_of_information_are_in_the_units_of_the_score() -> None:
    """Score and bound in nats: a perfect copy of a fair coin has I = ln 2, and S at n = 2 is ln 2 as well."""
    binary, general = information_bounds(2)
    assert binary == pytest.approx(np.log(2))
    assert general >= binary
    assert scores("I", "replace", (2, 2), np.array([[1, 0, 0, 1]]))[0] == 2**24
