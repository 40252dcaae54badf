"""The total a release may cost and how it is cut into exact shares."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from privbayes.errors import BudgetError

__all__ = ["PrivacyBudget"]

_LEAST_EPSILON = 1e-9
"""Below it the noise on a count passes any table, and soon the range of the integers it is added to."""


@dataclass(frozen=True, kw_only=True)
class PrivacyBudget:
    """(epsilon) for pure differential privacy, or (epsilon, delta), which is accounted as zCDP in rho."""

    epsilon: float
    delta: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise BudgetError(f"{name} must be a number, not {type(value).__name__}")
        if not (isfinite(self.epsilon) and self.epsilon > 0):
            raise BudgetError(f"epsilon must be a positive finite number, not {self.epsilon}; try 1.0")
        if self.epsilon < _LEAST_EPSILON:
            raise BudgetError(f"epsilon = {self.epsilon} leaves nothing but noise; give at least {_LEAST_EPSILON:g}")
        if self.delta is not None and not 0 < self.delta < 1:
            raise BudgetError(
                f"delta must lie strictly between 0 and 1, not {self.delta}; leave it out for pure epsilon"
            )

    @property
    def is_pure(self) -> bool:
        """Pure epsilon, with Laplace noise; otherwise zCDP, with Gaussian noise."""
        return self.delta is None

    def total(self) -> Fraction:
        """The whole budget in its own unit: epsilon, or the largest rho that implies (epsilon, delta)."""
        if self.delta is None:
            return Fraction(self.epsilon)
        from privbayes.privacy.noise import rho_for

        return Fraction(rho_for(self.epsilon, self.delta))
