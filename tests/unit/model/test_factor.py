"""Variable elimination against the full product."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.errors import UnsupportedError
from privbayes.model.factor import Factor, eliminate, joint

SIZES = [2, 3, 4, 2, 3, 2]


def random_factors(rng: np.random.Generator, count: int) -> list[Factor]:
    factors = [Factor.of((a,), rng.random(SIZES[a])) for a in range(len(SIZES))]
    for _ in range(count):
        scope = rng.permutation(len(SIZES))[: rng.integers(1, 4)].tolist()
        factors.append(Factor.of(scope, rng.random([SIZES[a] for a in scope])))
    return factors


def full_product(factors: list[Factor]) -> np.ndarray:
    total = np.ones(SIZES)
    for factor in factors:
        shape = [SIZES[a] if a in factor.scope else 1 for a in range(len(SIZES))]
        total = total * factor.values.reshape(shape)
    return total


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 6), st.lists(st.integers(0, 5), unique=True, max_size=3), st.booleans())
def test_joint_equals_the_full_product(seed: int, count: int, keep: list[int], tight: bool) -> None:
    factors = random_factors(np.random.default_rng(seed), count)
    dropped = tuple(a for a in range(len(SIZES)) if a not in keep)
    expected = np.transpose(full_product(factors).sum(axis=dropped), [sorted(keep).index(a) for a in keep])
    limit = 48 if tight else 2**20  # 48 cells: some steps must be cut into slices
    if np.prod([SIZES[a] for a in keep]) <= limit:
        np.testing.assert_allclose(joint(factors, keep, SIZES, max_cells=limit), expected, rtol=1e-10)


def test_a_table_over_the_limit_is_refused_with_its_size() -> None:
    factors = random_factors(np.random.default_rng(0), 0)
    with pytest.raises(UnsupportedError, match="24 cells, over the limit of 10"):
        joint(factors, [0, 1, 2], SIZES, max_cells=10)


def test_steps_remember_what_they_summed() -> None:
    factors = random_factors(np.random.default_rng(5), 4)
    rest, steps = eliminate(factors, [3, 1, 0, 2, 5, 4], SIZES)
    assert [step.axis for step in steps] == [3, 1, 0, 2, 5, 4]
    assert float(np.prod([f.values for f in rest])) == pytest.approx(full_product(factors).sum())
