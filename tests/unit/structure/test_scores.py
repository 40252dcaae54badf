from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privbayes.core.contingency import Contingency
from privbayes.errors import UnsupportedError
from privbayes.structure.scores import MAX_ROWS, information_bounds, score_batch, score_sensitivity

SHAPES = [(2, 1), (2, 8), (3, 5), (16, 24), (1, 7), (5, 2)]


def batch(n: int, seed: int = 0) -> tuple[list[np.ndarray], Contingency, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    tables = [rng.multinomial(n, rng.dirichlet(np.full(x * p, 0.3))).reshape(x, p).astype(np.int64) for x, p in SHAPES]
    offsets = np.cumsum([0, *(table.size for table in tables)])
    counts = Contingency(np.concatenate([table.ravel() for table in tables]), offsets)
    return tables, counts, np.array([x for x, _ in SHAPES]), np.array([min(shape) <= 2 for shape in SHAPES])


def exact_r(table: np.ndarray) -> int:
    """2n²R in Python integers."""
    rows, columns, n = table.sum(1).tolist(), table.sum(0).tolist(), int(table.sum())
    return sum(abs(n * int(table[x, p]) - rows[x] * columns[p]) for x, p in np.ndindex(table.shape))


@pytest.mark.parametrize("n", [1, 2, 1001])
def test_r_is_exact(n: int) -> None:
    tables, counts, child_size, binary = batch(n)
    got = score_batch("R", counts, child_size, neighbours="replace", n=n, declared_binary=binary)
    assert got.tolist() == [exact_r(t) * (3 if b else 2) for t, b in zip(tables, binary, strict=True)]
    got = score_batch("R", counts, child_size, neighbours="add-remove", n=n, declared_binary=binary)
    assert got.tolist() == [1024 * exact_r(t) // (2 * n) for t in tables]


def test_r_does_not_overflow_at_the_largest_n() -> None:
    half = MAX_ROWS // 2
    table = np.array([half, 0, 0, half], np.int64)
    counts = Contingency(table, np.array([0, 4]))
    args = {"n": MAX_ROWS, "declared_binary": np.array([True])}
    got = score_batch("R", counts, np.array([2]), neighbours="replace", **args)
    assert got[0] == 3 * exact_r(table.reshape(2, 2))
    got = score_batch("R", counts, np.array([2]), neighbours="add-remove", **args)
    assert got[0] == 1024 * half
    with pytest.raises(UnsupportedError, match="exact up to"):
        score_batch("R", counts, np.array([2]), neighbours="replace", n=MAX_ROWS + 1, declared_binary=np.array([True]))


def test_i_is_mutual_information_over_its_bound() -> None:
    n = 1001
    tables, counts, child_size, binary = batch(n)
    got = score_batch("I", counts, child_size, neighbours="replace", n=n, declared_binary=binary)
    small, general = information_bounds(n)
    for table, is_binary, score in zip(tables, binary, got, strict=True):
        p = table / n
        product = p.sum(1, keepdims=True) * p.sum(0)
        information = (p[p > 0] * np.log(p[p > 0] / product[p > 0])).sum()
        assert score == pytest.approx(information / (small if is_binary else general) * 2**24, abs=4)


def test_f_needs_two_values() -> None:
    _, counts, child_size, binary = batch(50)
    with pytest.raises(UnsupportedError, match="exactly two declared values"):
        score_batch("F", counts, child_size, neighbours="replace", n=50, declared_binary=binary)


@pytest.mark.parametrize("name", ["I", "F", "R"])
def test_an_empty_table_scores_zero_everywhere(name: str) -> None:
    counts = Contingency(np.zeros(8, np.int64), np.array([0, 4, 8]))
    binary = np.array([True, True])
    for neighbours in ("replace", "add-remove") if name != "I" else ("replace",):
        got = score_batch(name, counts, np.array([2, 2]), neighbours=neighbours, n=0, declared_binary=binary)
        assert got.tolist() == [0, 0]


def test_no_tables_no_scores() -> None:
    counts = Contingency(np.zeros(0, np.int64), np.array([0]))
    none = np.empty(0, np.int64)
    for name in ("I", "F", "R"):
        got = score_batch(name, counts, none, neighbours="replace", n=5, declared_binary=none.astype(bool))
        assert got.shape == (0,)


def test_threads_change_nothing() -> None:
    rng = np.random.default_rng(0)
    cells = rng.multinomial(900, np.ones(512) / 512, size=400).astype(np.int64)
    binary = np.ones(400, np.bool_)
    for name in ("I", "F", "R"):
        whole = Contingency(cells.ravel(), np.arange(401) * 512)
        together = score_batch(name, whole, np.full(400, 2), neighbours="replace", n=900, declared_binary=binary)
        for t in (0, 57, 399):
            one = Contingency(cells[t], np.array([0, 512]))
            alone = score_batch(name, one, np.array([2]), neighbours="replace", n=900, declared_binary=binary[:1])
            assert alone[0] == together[t]


@pytest.mark.parametrize(
    ("name", "neighbours", "hint"),
    [("Q", "replace", "use one of I, F, R"), ("I", "add-remove", "no finite bound"), ("R", "nearby", "add-remove")],
)
def test_what_has_no_meaning_is_refused(name: str, neighbours: str, hint: str) -> None:
    counts = Contingency(np.ones(4, np.int64), np.array([0, 4]))
    with pytest.raises(UnsupportedError, match=hint):
        score_batch(name, counts, np.array([2]), neighbours=neighbours, n=4, declared_binary=np.array([True]))
    with pytest.raises(UnsupportedError, match=hint):
        score_sensitivity(name, neighbours=neighbours, n=4)  # type: ignore[arg-type]


def test_tables_of_another_n_are_refused() -> None:
    counts = Contingency(np.ones(4, np.int64), np.array([0, 4]))
    with pytest.raises(ValueError, match="n rows"):
        score_batch("R", counts, np.array([2]), neighbours="replace", n=5, declared_binary=np.array([True]))


def test_sensitivities_as_stated() -> None:
    def bound(name: str, neighbours: str, n: int | None) -> int:
        found = score_sensitivity(name, neighbours=neighbours, n=n)  # type: ignore[arg-type]
        assert found.l1 is None
        assert found.l2_squared is None
        assert found.neighbours == neighbours
        assert found.linf is not None
        return found.linf

    assert bound("R", "replace", 1000) == 12 * 999
    assert Fraction(bound("R", "replace", 1000), 4) < Fraction(6 * 1000 + 4, 2)  # the printed 3/n + 2/n²
    assert bound("R", "replace", 1) == 1
    assert bound("R", "add-remove", None) == 2048
    assert bound("F", "replace", 1000) == 2
    assert bound("F", "add-remove", None) == 3
    assert bound("I", "replace", 45_222) == 2**24 + 2
    assert bound("I", "replace", 10**9) == 2**17 + 2
    with pytest.raises(ValueError, match="public"):
        score_sensitivity("R", neighbours="replace", n=None)
