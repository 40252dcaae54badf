"""The one door for the budget: nothing exact leaves without a bound, a share and a receipt."""

from __future__ import annotations

from fractions import Fraction
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from privbayes.errors import BudgetError
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.noise import NoiseSource, OpenDPNoise, RowSource, epsilon_for
from privbayes.privacy.released import Choice, Guarantee, Measurement, Receipt
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import PrivacyUnit

__all__ = ["Ledger"]


class Ledger:
    """Holds the total, prices each release by the mechanism's own map, refuses what does not fit, keeps receipts.

    Claim: everything released through one ledger is together within its budget. Assumes: sensitivities are right for
    the ledger's neighbour relation. Proof sketch: costs add up under adaptive composition, in epsilon for pure
    differential privacy and in rho for zCDP, also when later shares depend on earlier outputs, because the sum is
    bounded by a constant fixed beforehand (Rogers et al. 2016; Feldman and Zrnic 2021, for rho). Sums are exact
    fractions. Checked by: tests/privacy/test_ledger.py.
    """

    def __init__(self, budget: PrivacyBudget, unit: PrivacyUnit, noise: NoiseSource | None = None) -> None:
        self.budget = budget
        self.unit = unit
        self.total: Fraction = budget.total()
        self._noise: NoiseSource = noise if noise is not None else OpenDPNoise()
        self._receipts: list[Receipt] = []
        self._spent = Fraction(0)

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """Every spend so far, in order."""
        return tuple(self._receipts)

    @property
    def spent(self) -> Fraction:
        """The exact sum of the receipts."""
        return self._spent

    @property
    def remaining(self) -> Fraction:
        """What is left, exactly."""
        return self.total - self._spent

    def release_counts(
        self, values: NDArray[np.int64], sensitivity: Sensitivity, share: Fraction, label: str
    ) -> Measurement:
        """Noisy integers for at most ``share`` of the budget."""
        mechanism = self._noise.add_noise(
            pure=self.budget.is_pure, sensitivity=self._checked(sensitivity), share=self._available(share, label)
        )
        self._record(
            label, mechanism.name, mechanism.scale, sensitivity, mechanism.cost, mechanism.private, values.size
        )
        flat = np.ascontiguousarray(values, np.int64).ravel()
        return Measurement(label=label, values=mechanism.invoke(flat), noise=mechanism.name, scale=mechanism.scale)

    def release_choice(
        self, scores: NDArray[np.int64], sensitivity: Sensitivity, share: Fraction, label: str
    ) -> Choice:
        """The index of a high score for at most ``share`` of the budget. One candidate is no choice and is free."""
        if scores.size == 0:
            raise ValueError("nothing to choose from")
        if scores.size == 1:
            return Choice(label=label, index=0)
        mechanism = self._noise.choose(
            pure=self.budget.is_pure, sensitivity=self._checked(sensitivity), share=self._available(share, label)
        )
        self._record(
            label, mechanism.name, mechanism.scale, sensitivity, mechanism.cost, mechanism.private, scores.size
        )
        return Choice(label=label, index=mechanism.invoke(np.ascontiguousarray(scores, np.int64)))

    def release_rows(
        self, source: RowSource, rows: int, base: int, sensitivity: Sensitivity, share: Fraction, label: str
    ) -> Measurement:
        """``rows`` rows of codes, laid end to end, for at most ``share`` of the budget.

        Claim: with n rows, c_z of them in cell z of m, and D = max(n, N), each of the k released rows is, on its own,
            in cell z with probability P(z) = (1 - delta) [c_z + (D - n)/m] / D + delta/m. One person moves every P(z)
            by a factor of at most 1 + (1 - delta) s m / (N delta), s being the rows a person may have.
        Neighbours: replace, with N = n, which is public; add-remove, whatever n is, for every N that depends on the
            rows at most through what was bought.
        Assumes: ``base`` is that N; each row lies in exactly one cell. Coins are exact, delta is rounded up.
        Proof sketch: the factor is at most 1 + |change of P(z)| / min P(z), and P(z) >= delta/m, so it is enough that
            no P(z) changes by more than (1 - delta) s/N. replace: c_z moves by at most s. add-remove, n to n + s, with
            0 <= r <= s of the rows in z: for n + s <= N the bracket moves by r - s/m. For n >= N, the change
            (c + r)/(n + s) - c/n lies between -s/(n + s) and s/(n + s), as c <= n. For n < N < n + s, upwards
            (c + r)/(n + s) - c/N <= s/N; downwards c/N - c/(n + s) + (N - n)/(Nm) <= [(n + s - N) + (N - n)]/N = s/N.
            Rows are independent: k of them multiply. What the price of k rows is, under pure epsilon and under zCDP,
            stands in `smoothing.loss_per_row`. For s = 1, replace and n >= 1 the bound is met, by a cell that holds
            nothing or the one row.
        Checked by: tests/privacy/test_smoothed_rows.py, every small table, every neighbour, every whole output.
        """
        if self.unit.n_is_public and base != max(1, source.n_rows):
            raise ValueError("under replace the base is the number of rows")
        mechanism = self._noise.pick_rows(
            pure=self.budget.is_pure,
            sensitivity=self._checked(sensitivity),
            share=self._available(share, label),
            rows=rows,
            base=base,
            cells=prod(source.sizes),
        )
        values = rows * len(source.sizes)
        self._record(label, mechanism.name, mechanism.scale, sensitivity, mechanism.cost, mechanism.private, values)
        codes = np.ascontiguousarray(mechanism.invoke(source), np.int64).ravel()
        return Measurement(label=label, values=codes, noise=mechanism.name, scale=mechanism.scale)

    def guarantee(self) -> Guarantee:
        """What was promised in all: the whole budget, as a reader should take it."""
        private = all(receipt.private for receipt in self._receipts)
        delta, epsilon, rho = self.budget.delta, self.budget.epsilon, None
        if delta is not None:
            rho = float(self.total)
            epsilon = min(epsilon, epsilon_for(rho, delta))
        return Guarantee(
            epsilon=epsilon if private else inf,
            delta=delta or 0.0,
            rho=rho,
            neighbours=self.unit.neighbours,
            rows_per_person=self.unit.rows_per_person,
            private=private,
        )

    def _checked(self, sensitivity: Sensitivity) -> Sensitivity:
        if sensitivity.neighbours != self.unit.neighbours:
            raise BudgetError(
                f"a bound for {sensitivity.neighbours} neighbours cannot pay for {self.unit.neighbours} neighbours"
            )
        return sensitivity.for_rows(self.unit.rows_per_person)

    def _available(self, share: Fraction, label: str) -> Fraction:
        if share > self.remaining:
            raise BudgetError(
                f"refused: {label} asks for {float(share):g} and {float(self.remaining):g} of the budget is left"
            )
        return share

    def _record(
        self, label: str, name: str, scale: float, sensitivity: Sensitivity, cost: Fraction, private: bool, values: int
    ) -> None:
        if cost > self.remaining:
            raise BudgetError(f"refused: {label} would cost more than what is left of the budget")
        self._spent += cost
        self._receipts.append(
            Receipt(
                label=label,
                mechanism=name,
                neighbours=self.unit.neighbours,
                sensitivity=sensitivity.claim,
                scale=scale,
                values=values,
                cost=cost,
                private=private,
            )
        )
