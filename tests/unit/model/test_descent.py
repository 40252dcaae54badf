"""The descent finds the least value of smooth convex functions, says how it ended, and repeats itself."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from privbayes.model.descent import Descent, minimise


def quadratic(seed: int, n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    turned, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return turned @ np.diag(np.logspace(-2, 2, n)) @ turned.T, rng.normal(size=n)


def run(function, start: np.ndarray, **limits: float) -> Descent:  # type: ignore[no-untyped-def]
    settings = {"passes": 2000, "slope_tolerance": 1e-6, "value_tolerance": 1e-16, **limits}
    return minimise(function, start, **settings)


@pytest.mark.parametrize("seed", range(3))
def test_a_badly_scaled_quadratic_is_solved(seed: int) -> None:
    matrix, target = quadratic(seed)
    found = run(lambda x: (0.5 * x @ matrix @ x - target @ x, matrix @ x - target), np.zeros(30))
    assert found.converged
    np.testing.assert_allclose(found.point, np.linalg.solve(matrix, target), atol=1e-3)
    again = run(lambda x: (0.5 * x @ matrix @ x - target @ x, matrix @ x - target), np.zeros(30))
    assert np.array_equal(again.point, found.point)
    assert again.passes == found.passes


def test_a_curved_valley_is_followed_to_its_end() -> None:
    found = run(lambda x: (float(rosen(x)), rosen_der(x)), np.full(6, -1.2))
    assert found.converged
    np.testing.assert_allclose(found.point, np.ones(6), atol=1e-4)


def test_steps_out_of_the_domain_are_shortened() -> None:
    """- log x + x is infinite left of zero, and the first step would lead there."""

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        if np.any(x <= 0):
            return inf, np.zeros_like(x)
        return float((x - np.log(x)).sum()), 1 - 1 / x

    found = run(function, np.array([0.01, 60.0]))
    np.testing.assert_allclose(found.point, 1.0, atol=1e-5)


def test_it_stops_after_its_passes_and_says_so() -> None:
    matrix, target = quadratic(0)
    told: list[int] = []
    found = minimise(
        lambda x: (0.5 * x @ matrix @ x - target @ x, matrix @ x - target),
        np.zeros(30),
        passes=10,
        slope_tolerance=1e-9,
        value_tolerance=0.0,
        report=told.append,
    )
    assert not found.converged
    assert 10 <= found.passes < 10 + 30
    assert told == sorted(told)
    assert told[-1] == found.passes


def test_the_start_may_be_the_end() -> None:
    found = run(lambda x: (float(x @ x), 2 * x), np.zeros(4))
    assert (found.converged, found.passes) == (True, 1)
    empty = run(lambda x: (0.0, x.copy()), np.zeros(0))
    assert (empty.converged, empty.passes) == (True, 1)


def test_a_slope_that_lies_ends_the_descent_instead_of_holding_it_up() -> None:
    found = run(lambda x: (float(x @ x), -2 * x), np.ones(3))
    assert found.passes < 200
    np.testing.assert_allclose(found.point, 1.0)


def test_a_start_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match="start where the function has a value"):
        run(lambda x: (inf, x), np.ones(2))
