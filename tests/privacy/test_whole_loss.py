"""Whole methods under pure epsilon: the exact log-ratio of any output on a pair of neighbours stays within epsilon.

Every sequence of choices that a method could make is walked through, on small tables and their neighbours and on the
pairs that break printed algorithms. Methods yet to come are included; rows that are released have a test of their own.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from exact_loss import neighbours_of, permute_and_flip, permute_and_flip_by_orders, whole_losses
from numpy.typing import NDArray

from privbayes.api import METHODS
from privbayes.core.domain import Attribute, Domain
from privbayes.counts.memory import MemoryBackend
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.unit import Neighbours

RELEASE_ROWS = {"histogram"}
COUNTING = sorted(set(METHODS) - RELEASE_ROWS)
RELATIONS: tuple[Neighbours, ...] = ("replace", "add-remove")

Table = NDArray[np.int64]


@pytest.fixture(autouse=True)
def the_same_public_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided without looking at the rows is decided alike in both runs."""
    fresh = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed=5: fresh(seed))


def fit_of(method: str, **options: Any) -> Any:
    chosen = METHODS[method](epsilon=1.0, **options)
    module = importlib.import_module(chosen.module)

    def fit(counts: MemoryBackend, ledger: Ledger) -> None:
        module.fit(chosen, counts, ledger, None)

    return fit


def domain_of(*sizes: int) -> Domain:
    return Domain(tuple(Attribute.flat(name, size) for name, size in zip("abcdef", sizes, strict=False)))


def loosest(
    method: str, first: Table, second: Table, *, epsilon: float, neighbours: Neighbours, **options: Any
) -> float:
    sizes = (2,) * first.shape[1]
    walked = whole_losses(
        fit_of(method, **options), domain_of(*sizes), first, second, epsilon=epsilon, neighbours=neighbours
    )
    return max(loss for _, loss in walked)


def parent_value_seen_once(rows: int = 12) -> tuple[Table, Table]:
    """One row in which b is 1: there a is 0, or 1. The conditional Pr[a | b = 1] turns over."""
    first = np.zeros((rows, 3), np.int64)
    first[: rows // 2, 0] = 1
    first[0] = (0, 1, 0)
    second = first.copy()
    second[0] = (1, 1, 0)
    return first, second


def all_zero_but_one(rows: int = 12) -> tuple[Table, Table]:
    """All rows zero, or one of them all ones: every pair of columns changes at once."""
    first = np.zeros((rows, 3), np.int64)
    second = first.copy()
    second[0] = 1
    return first, second


def a_tie(rows: int = 12) -> tuple[Table, Table]:
    """c depends equally on a and b, until one row decides."""
    first = np.array([(0, 0, 0), (1, 1, 1)] * (rows // 2), np.int64)
    second = first.copy()
    second[0] = (1, 0, 0)
    return first, second


@pytest.mark.parametrize("pair", [parent_value_seen_once, all_zero_but_one, a_tie])
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.5, 20.0])
@pytest.mark.parametrize("method", COUNTING)
def test_no_output_tells_the_tables_of_a_known_pair_apart(
    method: str, epsilon: float, neighbours: Neighbours, pair: Any
) -> None:
    first, second = pair()
    if neighbours == "add-remove":
        first = first[1:]  # the second has the row that the first lacks
    worst = loosest(method, first, second, epsilon=epsilon, neighbours=neighbours)
    assert worst <= epsilon * (1 + 1e-9)
    print(f"{method} {neighbours} {pair.__name__}: {worst:.4f} of {epsilon}")


def small_pairs(neighbours: Neighbours) -> Iterator[tuple[Table, Table]]:
    """Every table of 3 rows over two bits, up to the order of rows, with every neighbour."""
    cells = list(itertools.product((0, 1), repeat=2))
    for picked in itertools.combinations_with_replacement(cells, 3):
        first = np.array(picked, np.int64)
        for second in neighbours_of(first, (2, 2), neighbours):
            yield first, second


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("method", COUNTING)
def test_no_output_tells_any_small_table_from_its_neighbours(method: str, neighbours: Neighbours) -> None:
    """At an epsilon large enough for the methods to select at all on three rows."""
    epsilon = 60.0
    worst = max(
        loosest(method, first, second, epsilon=epsilon, neighbours=neighbours)
        for first, second in small_pairs(neighbours)
    )
    assert worst <= epsilon * (1 + 1e-9)
    print(f"{method} {neighbours}: {worst:.4f} of {epsilon}")


def test_the_walk_meets_choices_where_a_method_selects() -> None:
    first, second = a_tie()
    for method in ("privbayes", "privabn"):
        fit = fit_of(method, first="a", max_parents=1 if method == "privbayes" else None)
        walked = list(whole_losses(fit, domain_of(2, 2, 2), first, second, epsilon=20.0))
        assert len({choices for choices, _ in walked}) == len(walked) == 4


def test_a_table_whose_noise_is_too_small_is_caught() -> None:
    """The walk itself: a fit that pays half of what it should is seen to lose twice epsilon."""
    from fractions import Fraction

    from privbayes.counts.request import MarginalRequests
    from privbayes.privacy.sensitivity import Sensitivity

    def careless(counts: MemoryBackend, ledger: Ledger) -> None:
        table = counts.count(MarginalRequests.of([(0,)])).table(0)
        claimed = Sensitivity(neighbours="replace", claim="wrong", l1=1)  # it is 2
        ledger.release_counts(table, claimed, Fraction(1), "table")

    first, second = all_zero_but_one()
    ((_, loss),) = whole_losses(careless, domain_of(2, 2, 2), first, second, epsilon=1.0)
    assert loss == pytest.approx(2.0)


@pytest.mark.parametrize("scores", [[3, 1, 0, 3, 2], [7], [0, 0], [5, -40, 5]])
def test_the_law_of_permute_and_flip(scores: list[int]) -> None:
    law = permute_and_flip(np.array(scores), 1.7)
    assert sum(law) == pytest.approx(1)
    np.testing.assert_allclose(law, permute_and_flip_by_orders(np.array(scores), 1.7))
