"""The network model: conditionals, marginals and conditional sampling against the full joint distribution."""

from __future__ import annotations

import numpy as np
import pytest

from privbayes.core.domain import Attribute, Domain
from privbayes.core.network import AttributeParents, BayesianNetwork, Parent
from privbayes.errors import UnsupportedError
from privbayes.model.bayes_net import BayesNetModel
from privbayes.model.conditional import conditional
from privbayes.model.factor import Factor
from privbayes.privacy.released import Measurement
from privbayes.sample.rejection import RejectionSampler

DOMAIN = Domain(
    (
        Attribute(name="a", levels=((0, 1, 2, 3), (0, 0, 1, 1))),
        Attribute.flat("b", 3),
        Attribute.flat("c", 2),
        Attribute.flat("d", 2),
    )
)
NETWORK = BayesianNetwork(
    (
        AttributeParents(1),
        AttributeParents(0, (Parent(1),)),
        AttributeParents(2, (Parent(0, 1), Parent(1))),
        AttributeParents(3, (Parent(2), Parent(0, 1))),
    )
)


def measurement(values: np.ndarray) -> Measurement:
    return Measurement(label="t", values=values.ravel().astype(np.int64), noise="scripted", scale=0.0)


def model(seed: int = 0) -> BayesNetModel:
    rng = np.random.default_rng(seed)
    tables = []
    for pair in NETWORK.pairs:
        axes = pair.axes(DOMAIN)
        tables.append((axes, measurement(rng.integers(-3, 30, DOMAIN.cells(axes)))))
    return BayesNetModel(DOMAIN, NETWORK, tables)


def full_joint(net: BayesNetModel) -> np.ndarray:
    """By the definition, over (a, b, c, d)."""
    by_child = {c.axis: c.probabilities for c in net.conditionals}
    result = np.zeros((4, 3, 2, 2))
    for a, b, c, d in np.ndindex(*result.shape):
        half = a >> 1
        result[a, b, c, d] = (
            by_child[DOMAIN.axis(1)][0, b]
            * by_child[DOMAIN.axis(0)][b, a]
            * by_child[DOMAIN.axis(2)][half * 3 + b, c]
            * by_child[DOMAIN.axis(3)][c * 2 + half, d]
        )
    return result


@pytest.mark.parametrize("attributes", [[0], [3], [1, 3], [3, 0], [2, 1, 0], [0, 1, 2, 3], []])
def test_marginals_are_exact(attributes: list[int]) -> None:
    net = model()
    joint = full_joint(net)
    assert joint.sum() == pytest.approx(1)
    expected = joint.sum(axis=tuple(a for a in range(4) if a not in attributes))
    expected = np.transpose(expected, [sorted(attributes).index(a) for a in attributes])
    np.testing.assert_allclose(net.marginal(attributes), expected, atol=1e-12)


def test_conditional_sampling_follows_the_exact_posterior() -> None:
    net = model(4)
    evidence = [Factor((DOMAIN.axis(3),), np.array([0.0, 1.0])), Factor((DOMAIN.axis(1),), np.array([1.0, 0.0, 0.5]))]
    weights = np.array([1.0, 0.0, 0.5])[None, :, None, None] * np.array([0.0, 1.0])[None, None, None, :]
    posterior = full_joint(net) * weights
    posterior /= posterior.sum()
    rng = np.random.default_rng(0)
    exact = net.sampler(evidence)
    rejecting = RejectionSampler(DOMAIN, net.sampler(), evidence)  # type: ignore[arg-type]
    for sampler in (exact, rejecting):
        rows = 60_000
        codes = sampler.draw(rows, rng)
        seen = np.zeros_like(posterior)
        np.add.at(seen, tuple(codes), 1 / rows)
        assert 0.5 * np.abs(seen - posterior).sum() < 0.012
        assert set(np.unique(codes[3])) == {1}


def test_an_impossible_condition_is_refused() -> None:
    net = BayesNetModel(
        Domain((Attribute.flat("x", 2),)),
        BayesianNetwork((AttributeParents(0),)),
        [((0,), measurement(np.array([9, 0])))],
    )
    evidence = [Factor((0,), np.array([0.0, 1.0]))]
    with pytest.raises(UnsupportedError, match="no probability"):
        net.sampler(evidence)
    with pytest.raises(UnsupportedError, match="no probability"):
        net.marginal([0], evidence)


def test_empty_parents_take_the_overall_distribution_and_empty_tables_the_uniform_one() -> None:
    table = np.array([[3.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(conditional(table), [[0.75, 0.25], [0.75, 0.25]])
    np.testing.assert_allclose(conditional(np.zeros((4, 2))), np.full((2, 4), 0.25))


def test_pairs_without_a_table_are_projected_from_one_that_has_their_axes() -> None:
    domain = Domain((Attribute.flat("x", 2), Attribute.flat("y", 2), Attribute.flat("z", 3)))
    network = BayesianNetwork(
        (AttributeParents(0), AttributeParents(1, (Parent(0),)), AttributeParents(2, (Parent(0), Parent(1))))
    )
    counts = np.arange(12).reshape(3, 2, 2)  # over (z, x, y)
    net = BayesNetModel(domain, network, [((2, 0, 1), measurement(counts))])
    np.testing.assert_allclose(net.marginal([2, 0, 1]), counts / counts.sum(), atol=1e-12)
    np.testing.assert_allclose(net.conditionals[0].probabilities[0], counts.sum(axis=(0, 2)) / counts.sum())
