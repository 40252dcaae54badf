"""BUY: how a budget is shared over tables of different worth, by one common price. Public and released facts only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from privbayes.core.residuals import Coordinates
from privbayes.measure.residuals import residual_sensitivity
from privbayes.privacy.unit import PrivacyUnit

__all__ = ["Offer", "allocate", "exact_shares", "noise_harm", "unit_variance"]

# Noise does harm on a cell up to this part of its standard deviation: E|N(0, 1)| is 0.8.
_ABSOLUTE = 0.8
_GRID = 48
_LEAST = 1e-5  # of the budget: smaller purchases tell nothing


@dataclass(frozen=True, kw_only=True, eq=False)
class Offer:
    """A table that may be bought. ``error``: the L1 error (in rows) that it would take away, ``expected``: the counts
    its cells should have, ``weight``: how much its error matters, ``unit``: the variance of one of its cells before
    projection when bought with a share of 1, ``precision``: one over that variance as far as it is bought already.
    Of several offers of one ``item`` at most one is taken.
    """

    item: int
    shape: tuple[int, ...]
    expected: NDArray[np.float64]
    error: float
    weight: float
    unit: float
    precision: float = 0.0

    def gain(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted error taken away less error brought in by noise, for each share; noise on a cell cannot do more harm
        than the cell's whole count. A share of 0 adds nothing.
        """
        bought = shares / self.unit + self.precision
        harm = noise_harm(self.shape, self.expected, 1 / np.maximum(bought, 1e-300))
        result: NDArray[np.float64] = np.where(bought > 0, self.weight * (self.error - harm), 0.0)
        return result


def noise_harm(
    shape: Sequence[int], expected: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The L1 error (in rows) that noise puts into an interaction table, for each variance of a cell before projection;
    on no cell more than the cell's expected count.
    """
    free = prod(1 - 1 / size for size in shape)
    deviation = _ABSOLUTE * np.sqrt(free * variances)[:, None]
    harm: NDArray[np.float64] = (deviation * expected / (expected + deviation + 1e-300)).sum(axis=1)
    return harm


@lru_cache(maxsize=4_096)
def unit_variance(coordinates: Coordinates, unit: PrivacyUnit) -> float:
    """The variance v that a share of 1 buys, in rho; v falls with the share."""
    bound = residual_sensitivity(coordinates, unit.neighbours).for_rows(unit.rows_per_person)
    return float(bound.l2_squared or 0) / 2 * coordinates.variance_factor


def allocate(offers: Sequence[Offer], budget: float) -> NDArray[np.float64]:
    """Shares that maximise the sum of gains: each item takes the offer and share (on a grid, or none) whose gain less
    its price is largest, and the price is set so that together they take the budget. Scaled to sum to it. Offers of an
    item stand together.
    """
    shares = np.concatenate([[0.0], budget * np.exp(np.linspace(np.log(_LEAST), 0.0, _GRID))])
    gains = np.array([offer.gain(shares) for offer in offers]).reshape(len(offers), len(shares))
    item = np.array([offer.item for offer in offers])
    first = np.flatnonzero(np.diff(item, prepend=item[:1] - 1))
    rank = np.arange(len(offers))

    def take(price: float) -> NDArray[np.float64]:
        net = gains - price * shares
        best = np.argmax(net, axis=1)
        worth = net[rank, best]
        leader = np.maximum.reduceat(worth, first)[np.cumsum(np.isin(rank, first)) - 1]
        ahead = np.flatnonzero(worth == leader)  # the first of equals
        chosen = ahead[np.unique(item[ahead], return_index=True)[1]]
        taken = np.zeros(len(offers))
        taken[chosen] = shares[best[chosen]]
        return taken

    low, high = 1e-12, 1e18  # gain for a share: no price takes all, the highest nothing
    for _ in range(120):
        price = float(np.sqrt(low * high))
        if take(price).sum() > budget:
            low = price
        else:
            high = price
    taken = take(high)
    total = taken.sum()
    scaled: NDArray[np.float64] = taken * (budget / total) if total > 0 else taken
    return scaled


def exact_shares(weights: NDArray[np.float64], budget: Fraction) -> list[Fraction]:
    """Exact fractions of a budget in these proportions, which never sum to more than it."""
    whole = [int(weight * 2.0**60) for weight in weights / weights.sum()]
    return [budget * part / sum(whole) for part in whole]
