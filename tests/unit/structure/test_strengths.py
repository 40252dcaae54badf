"""What noisy tables say about how far pairs are from independence."""

from __future__ import annotations

import numpy as np

from privbayes.structure.strengths import shown_errors


def test_pure_noise_shows_nothing() -> None:
    rng = np.random.default_rng(1)
    shown = [shown_errors(np.abs(rng.normal(size=60)), np.ones(60), np.full(60, 1e4), 5e4).any() for _ in range(200)]
    assert np.mean(shown) < 0.08


def test_what_stands_out_is_seen_as_it_is_and_the_rest_is_not() -> None:
    rng = np.random.default_rng(2)
    true = np.where(np.arange(200) < 20, 3_000.0, 0.0)
    roots = np.abs(true / 100.0 + rng.normal(size=200))
    errors = shown_errors(roots, np.ones(200), np.full(200, 100.0**2), 50_000.0)
    np.testing.assert_allclose(errors[:20], 3_000.0, rtol=0.15)
    assert errors[20:].max() < 300.0


def test_large_tables_are_judged_by_what_goes_beyond_their_freedom() -> None:
    rng = np.random.default_rng(3)
    freedom = np.full(120, 150.0)
    distance = np.where(np.arange(120) < 60, 0.0, 30.0)  # in units of the noise
    roots = np.sqrt((rng.normal(size=(120, 150)) ** 2).sum(axis=1) + distance**2)
    errors = shown_errors(roots, freedom, np.full(120, 10.0**2), 10_000.0)
    assert errors[:60].mean() < 100.0
    np.testing.assert_allclose(errors[60:].mean(), 300.0, rtol=0.15)
