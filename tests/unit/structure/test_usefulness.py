"""theta-usefulness against the paper's formulas."""

from __future__ import annotations

from fractions import Fraction
from math import floor, pi, sqrt

import pytest

from privbayes.measure.marginals import table_sensitivity
from privbayes.structure.usefulness import cell_limit, expected_noise, largest_degree


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.4, 1.6])
def test_pure_cell_limit_is_the_papers(epsilon: float) -> None:
    n, d, theta = 45222, 15, 4.0
    share = Fraction(0.7) * Fraction(epsilon)
    noise = expected_noise(pure=True, sensitivity=table_sensitivity("replace"), tables=d, share=share)
    assert cell_limit(n=n, noise=noise, theta=theta) == floor(n * float(share) / (2 * d * theta))


@pytest.mark.parametrize("n", [50, 5_000, 21_574, 10**7])
@pytest.mark.parametrize("epsilon", [0.05, 0.8, 30.0])
def test_pure_degree_is_the_papers(n: int, epsilon: float) -> None:
    d, theta = 16, 4.0
    share = Fraction(0.7) * Fraction(epsilon)
    useful = [k for k in range(1, d) if n * float(share) / ((d - k) * 2 ** (k + 2)) >= theta]
    got = largest_degree(n=n, d=d, theta=theta, pure=True, sensitivity=table_sensitivity("replace"), share=share)
    assert got == max(useful, default=0)


def test_gaussian_noise_is_measured_by_its_mean_absolute_value() -> None:
    noise = expected_noise(pure=False, sensitivity=table_sensitivity("replace"), tables=8, share=Fraction(1, 100))
    assert noise == pytest.approx(sqrt(8 / 0.01) * sqrt(2 / pi))
    halved = expected_noise(pure=False, sensitivity=table_sensitivity("add-remove"), tables=8, share=Fraction(1, 100))
    assert halved == pytest.approx(noise / sqrt(2))
