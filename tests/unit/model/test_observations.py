"""Noisy tables read back: blocks as the interaction parts of their columns and pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from privbayes.core.domain import Attribute, Domain
from privbayes.core.residuals import centred
from privbayes.model.observations import Observation, combined, interactions, observed, parts
from privbayes.privacy.released import Measurement

SHAPE = (3, 2, 4)


def block(table: np.ndarray) -> Observation:
    return Observation(attributes=(5, 2, 7), table=table, variance=2.0, centred=False)


def test_parts_are_the_interactions_of_the_sums_of_the_table() -> None:
    table = np.random.default_rng(0).normal(size=SHAPE)
    found = {one.attributes: one for one in parts(block(table))}
    assert set(found) == {(5,), (2,), (7,), (5, 2), (5, 7), (2, 7)}
    np.testing.assert_allclose(found[5, 7].table, centred(table.sum(axis=1)))
    np.testing.assert_allclose(found[(2,)].table, centred(table.sum(axis=(0, 2))))
    assert found[5, 7].variance == 2.0 * 2
    assert found[(2,)].variance == 2.0 * 12
    assert all(one.centred for one in found.values())


def test_noise_of_two_parts_is_not_correlated_and_as_large_as_they_say() -> None:
    """Exactly: the parts are linear in the cells, whose noise is independent with variance 2."""
    cells = np.eye(24).reshape(24, *SHAPE)
    rows = [[one.table.ravel() for one in parts(block(cell))] for cell in cells]
    maps = [np.array([row[p] for row in rows]).T for p in range(6)]
    for one, matrix in zip(parts(block(cells[0])), maps, strict=True):
        projection = np.ones((1, 1))
        for size in one.table.shape:
            projection = np.kron(projection, np.eye(size) - 1 / size)
        np.testing.assert_allclose(2.0 * matrix @ matrix.T, one.variance * projection, atol=1e-12)
    for one_map, other in combinations(maps, 2):
        np.testing.assert_allclose(one_map @ other.T, 0.0, atol=1e-12)


def test_blocks_and_single_columns_come_together_as_one_observation_each() -> None:
    domain = Domain(tuple(Attribute(name=name, levels=(tuple(range(size)),)) for name, size in (("a", 2), ("b", 3))))
    noise = {"noise": "discrete laplace", "scale": 3.0}
    pair = Measurement(label="table a x b", values=np.array([5, 1, 2, 3, 4, 9]), **noise)
    single = Measurement(label="interaction a", values=np.array([-6]), unit=0.5, **noise)
    released = [observed(domain, (0, 1), pair, "blocks"), observed(domain, (0,), single, "blocks")]
    seen = {one.attributes: one for one in interactions(released)}
    assert set(seen) == {(0,), (1,), (0, 1)}
    # Of column a: -4 by the block, whose variance is three cells', and -3 by the contrast, with half that of a value.
    at_block, at_contrast = 3 * pair.variance, single.variance / 2
    weight = at_contrast / (at_block + at_contrast)
    np.testing.assert_allclose(seen[(0,)].table, [-3 - weight, 3 + weight])
    assert seen[(0,)].variance == pytest.approx(1 / (1 / at_block + 1 / at_contrast))
    assert combined(list(seen.values()))[0].attributes == (0,)
