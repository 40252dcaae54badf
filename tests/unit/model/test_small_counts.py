"""Cutting off small counts keeps the total and the large counts' proportions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from privbayes.model.small_counts import without_small_counts

TABLES = arrays(np.float64, array_shapes(max_dims=3, max_side=5), elements=st.integers(-50, 200).map(float))


@given(TABLES, st.integers(1, 500))
def test_the_threshold_is_the_best_of_all(table: np.ndarray, total: int) -> None:
    result = without_small_counts(table, float(total))
    np.testing.assert_allclose(result.sum(), total)
    assert result.min() >= 0
    thresholds = np.unique(table[table > 0])
    if not thresholds.size:
        assert np.all(result == result.flat[0])
        return
    gaps = [abs(table[table >= t].sum() - total) for t in thresholds]
    kept = result > 0
    assert abs(table[kept].sum() - total) <= min(gaps) + 1e-9
    assert table[kept].min() > max(table[~kept].max(initial=0.0), 0.0)
    np.testing.assert_allclose(result[kept] / result[kept].sum(), table[kept] / table[kept].sum())


def test_a_table_that_already_has_the_total_stays_as_it_is() -> None:
    table = np.array([[3.0, 0.0], [5.0, 2.0]])
    np.testing.assert_allclose(without_small_counts(table, 10.0), table)


def test_the_bias_of_rounding_negatives_up_is_gone() -> None:
    """Half of the noise on empty cells is positive; cutting at zero alone would scale the real counts down."""
    rng = np.random.default_rng(0)
    truth = np.zeros(1_000)
    truth[:5] = [4_000, 3_000, 2_000, 800, 200]
    noisy = truth + np.rint(rng.laplace(scale=40, size=1_000))
    plain = np.maximum(noisy, 0) / np.maximum(noisy, 0).sum() * truth.sum()
    assert np.abs(without_small_counts(noisy, truth.sum()) - truth).sum() < 0.1 * np.abs(plain - truth).sum()
