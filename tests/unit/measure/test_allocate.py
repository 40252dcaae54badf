"""Shares at one price."""

from __future__ import annotations

import numpy as np
import pytest

from privbayes.measure.allocate import Offer, allocate


def offer(item: int, cells: int, error: float, precision: float = 0.0) -> Offer:
    return Offer(
        item=item,
        shape=(cells, cells),
        expected=np.full(cells**2, 10_000 / cells**2),
        error=error,
        weight=1.0,
        unit=1.0,
        precision=precision,
    )


def test_of_several_offers_of_an_item_one_is_taken() -> None:
    offers = [offer(0, 16, 5_000), offer(0, 8, 4_000), offer(0, 4, 2_000), offer(1, 4, 3_000)]
    for budget in (1e-8, 1e-5, 1e-3, 1.0):
        shares = allocate(offers, budget)
        assert np.count_nonzero(shares[:3]) <= 1
        assert shares.sum() == pytest.approx(budget) or shares.sum() == 0


def test_a_larger_budget_buys_a_finer_table() -> None:
    offers = [offer(0, 16, 5_000), offer(0, 8, 4_000), offer(0, 4, 2_000)]
    taken = [int(np.argmax(allocate(offers, budget))) for budget in (2e-5, 3e-4, 1.0)]
    assert taken == sorted(taken, reverse=True)
    assert taken[0] > 0
    assert taken[-1] == 0


def test_equal_offers_of_one_item_are_not_both_bought() -> None:
    shares = allocate([offer(3, 4, 3_000), offer(3, 4, 3_000), offer(5, 4, 3_000)], 1e-3)
    assert np.count_nonzero(shares) == 2
    assert shares[1] == 0
    assert shares[0] == pytest.approx(shares[2])


def test_nothing_worth_buying_takes_nothing() -> None:
    assert not allocate([offer(0, 4, 0.0), offer(1, 4, 0.0)], 1e-3).any()
