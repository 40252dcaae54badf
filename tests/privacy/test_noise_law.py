"""The noise follows its law: discrete Laplace, discrete Gaussian, permute-and-flip, exponential mechanism."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import exp

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from privbayes.privacy.noise import OpenDPNoise
from privbayes.privacy.sensitivity import Sensitivity

SENSITIVITY = Sensitivity(neighbours="replace", claim="test", l1=2, l2_squared=2, linf=1)
DRAWS = 40_000
TINY = 1e-6  # a right sampler fails one run in a million


def fits(observed: NDArray[np.int64], expected: NDArray[np.float64]) -> bool:
    """Chi-squared over cells with enough mass, the rest pooled."""
    enough = expected * DRAWS >= 10
    counts = np.append(observed[enough], observed[~enough].sum())
    probabilities = np.append(expected[enough], 1 - expected[enough].sum())
    keep = probabilities * DRAWS >= 5
    chi = ((counts - DRAWS * probabilities)[keep] ** 2 / (DRAWS * probabilities[keep])).sum()
    return bool(stats.chi2.sf(chi, keep.sum() - 1) > TINY)


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(4)])
def test_integer_noise_follows_its_law(pure: bool, share: Fraction) -> None:
    mechanism = OpenDPNoise().add_noise(pure=pure, sensitivity=SENSITIVITY, share=share)
    noise = mechanism.invoke(np.full(DRAWS, 1000, np.int64)) - 1000
    support = np.arange(-60, 61)
    weights = np.exp(-np.abs(support) / mechanism.scale) if pure else np.exp(-(support**2) / (2 * mechanism.scale**2))
    observed = np.bincount(np.clip(noise, -60, 60) + 60, minlength=121)
    assert fits(observed, weights / weights.sum())
    expected_scale = 2 / float(share) if pure else (1 / float(share)) ** 0.5
    assert mechanism.scale == pytest.approx(expected_scale)


def permute_and_flip(scores: list[int], epsilon: float) -> NDArray[np.float64]:
    """The law by its definition: visit in random order, stop at each with probability exp(eps (q - max) / 2 Delta)."""
    accept = [exp(epsilon * (score - max(scores)) / 2) for score in scores]
    law = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for candidate in order:
            law[candidate] += reached * accept[candidate] / len(orders)
            reached *= 1 - accept[candidate]
    return law


def test_pure_choices_are_permute_and_flip() -> None:
    scores = [3, 1, 0, 3, 2]
    mechanism = OpenDPNoise().choose(pure=True, sensitivity=SENSITIVITY, share=Fraction(3, 2))
    drawn = np.bincount([mechanism.invoke(np.array(scores)) for _ in range(DRAWS)], minlength=5)
    assert fits(drawn, permute_and_flip(scores, 1.5))


def test_zcdp_choices_are_the_exponential_mechanism_at_eps_squared_over_eight() -> None:
    scores = np.array([3, 1, 0, 3, 2])
    epsilon = 1.5
    mechanism = OpenDPNoise().choose(pure=False, sensitivity=SENSITIVITY, share=Fraction(epsilon**2) / 8)
    drawn = np.bincount([mechanism.invoke(scores) for _ in range(DRAWS)], minlength=5)
    weights = np.exp(epsilon * scores / 2)
    assert fits(drawn, weights / weights.sum())


def test_two_draws_differ() -> None:
    mechanism = OpenDPNoise().add_noise(pure=True, sensitivity=SENSITIVITY, share=Fraction(1, 100))
    zeros = np.zeros(50, np.int64)
    assert not np.array_equal(mechanism.invoke(zeros), mechanism.invoke(zeros))
