"""The ledger: exact arithmetic, refusal, receipts, taint."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.errors import BudgetError
from privbayes.measure.marginals import table_sensitivity
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.noise import OpenDPNoise, ScriptedNoise, epsilon_for, rho_for
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import PrivacyUnit

COUNTS = np.arange(6, dtype=np.int64)
NOT_DELTAS = [(1.0, 0.0), (1.0, 1.0), (1.0, -0.1)]
SCORE = Sensitivity(neighbours="replace", claim="a score", linf=3)


def ledger(epsilon: float = 1.0, delta: float | None = None, **unit: object) -> Ledger:
    return Ledger(PrivacyBudget(epsilon=epsilon, delta=delta), PrivacyUnit(**unit))  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [None, 1e-9])
@settings(max_examples=25, deadline=None)
@given(st.lists(st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=997), min_size=1, max_size=12))
def test_receipts_never_exceed_the_total_and_the_rest_is_refused(delta: float | None, parts: list[Fraction]) -> None:
    book = ledger(0.7, delta)
    for i, part in enumerate(parts):
        share = part * book.total
        if share > book.remaining:
            with pytest.raises(BudgetError, match="refused"):
                book.release_counts(COUNTS, table_sensitivity("replace"), share, f"table {i}")
        elif i % 2:
            book.release_counts(COUNTS, table_sensitivity("replace"), share, f"table {i}")
        else:
            book.release_choice(COUNTS, SCORE, share, f"choice {i}")
    assert sum(receipt.cost for receipt in book.receipts) == book.spent <= book.total


def test_the_whole_budget_can_be_spent_and_then_nothing_more() -> None:
    book = ledger(1.0)
    for i in range(3):
        book.release_counts(COUNTS, table_sensitivity("replace"), book.total / 3, f"table {i}")
    assert 0 <= book.remaining < Fraction(1, 10**12)
    with pytest.raises(BudgetError, match="refused"):
        book.release_counts(COUNTS, table_sensitivity("replace"), Fraction(1, 1000), "one more")
    assert len(book.receipts) == 3


def test_a_refused_spend_adds_no_receipt_and_draws_no_noise() -> None:
    calls = []
    book = Ledger(
        PrivacyBudget(epsilon=1.0),
        PrivacyUnit(),
        ScriptedNoise(offsets=lambda size: calls.append(size) or [0] * size),
    )
    with pytest.raises(BudgetError):
        book.release_counts(COUNTS, table_sensitivity("replace"), Fraction(2), "too much")
    assert calls == []
    assert book.receipts == ()


def test_a_bound_for_other_neighbours_cannot_pay() -> None:
    with pytest.raises(BudgetError, match="add-remove"):
        ledger().release_counts(COUNTS, table_sensitivity("add-remove"), Fraction(1), "table")


def test_an_unproved_bound_cannot_pay() -> None:
    with pytest.raises(BudgetError, match="no L1 bound is proved"):
        ledger().release_counts(COUNTS, SCORE, Fraction(1), "table")


def test_one_candidate_is_no_choice() -> None:
    book = ledger()
    assert book.release_choice(np.array([5]), SCORE, Fraction(1), "choice").index == 0
    assert book.spent == 0


def test_rows_per_person_scale_the_noise() -> None:
    one = ledger().release_counts(COUNTS, table_sensitivity("replace"), Fraction(1), "t").scale
    three = ledger(rows_per_person=3).release_counts(COUNTS, table_sensitivity("replace"), Fraction(1), "t").scale
    assert (one, three) == (2.0, 6.0)
    gaussian = ledger(1.0, 1e-6, rows_per_person=3)
    share = gaussian.total
    three = gaussian.release_counts(COUNTS, table_sensitivity("replace"), share, "t").scale
    assert three == pytest.approx(3 * (1 / float(share)) ** 0.5, rel=1e-9)


def test_scripted_noise_taints_the_guarantee() -> None:
    book = Ledger(PrivacyBudget(epsilon=1.0), PrivacyUnit(), ScriptedNoise())
    released = book.release_counts(COUNTS, table_sensitivity("replace"), Fraction(1), "t")
    np.testing.assert_array_equal(released.values, COUNTS)
    guarantee = book.guarantee()
    assert not guarantee.private
    assert guarantee.epsilon == float("inf")
    assert "NOT PRIVATE" in guarantee.sentence()


@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(1e-6), Fraction(50), Fraction(7, 10**4)])
@pytest.mark.parametrize("pure", [True, False])
def test_costs_come_from_the_map_and_fill_their_share(share: Fraction, pure: bool) -> None:
    sensitivity = Sensitivity(neighbours="replace", claim="all", l1=2, l2_squared=2, linf=12 * 45221)
    for make in (OpenDPNoise().add_noise, OpenDPNoise().choose):
        mechanism = make(pure=pure, sensitivity=sensitivity, share=share)
        assert share * (1 - Fraction(1, 10**12)) < mechanism.cost <= share


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [*((wrong, None) for wrong in (0.0, -1.0, float("nan"), float("inf"), 5e-324, True, "1")), *NOT_DELTAS],
)
def test_senseless_budgets_are_refused(epsilon: float, delta: float | None) -> None:
    with pytest.raises(BudgetError):
        PrivacyBudget(epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-5, 0.1])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0, 400.0, 1e6])
def test_rho_is_the_largest_that_keeps_the_promise(epsilon: float, delta: float) -> None:
    rho = rho_for(epsilon, delta)
    assert epsilon_for(rho, delta) <= epsilon < epsilon_for(rho * (1 + 1e-6) + 1e-12, delta)


def test_the_promise_is_reported_in_all_three_numbers() -> None:
    guarantee = ledger(1.0, 1e-9).guarantee()
    assert guarantee.epsilon == pytest.approx(1.0)
    assert guarantee.delta == 1e-9
    assert guarantee.rho == pytest.approx(0.01497, rel=1e-3)
    assert "delta = 1e-09" in guarantee.sentence()


@pytest.mark.parametrize("unit", [{"neighbours": "swap"}, {"rows_per_person": 0}])
def test_senseless_units_are_refused(unit: dict[str, object]) -> None:
    with pytest.raises(BudgetError):
        PrivacyUnit(**unit)  # type: ignore[arg-type]
