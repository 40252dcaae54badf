"""Ancestral sampling: the law, reproducibility, and values without probability."""

from __future__ import annotations

import numpy as np

from privbayes.core.domain import Attribute, Domain
from privbayes.model.conditional import ConditionalTable
from privbayes.sample.ancestral import AncestralSampler

DOMAIN = Domain((Attribute(name="a", levels=((0, 1, 2), (0, 0, 1))), Attribute.flat("b", 20)))


def sampler() -> AncestralSampler:
    rng = np.random.default_rng(8)
    root = np.array([[0.2, 0.0, 0.8]])
    child = rng.dirichlet(np.full(20, 0.5), size=2)
    child[:, [0, 7, 19]] = 0.0
    child /= child.sum(axis=1, keepdims=True)
    first, coarse, second = DOMAIN.axis(0), DOMAIN.axis(0, 1), DOMAIN.axis(1)
    return AncestralSampler(DOMAIN, [ConditionalTable(first, (), root), ConditionalTable(second, (coarse,), child)])


def test_rows_follow_the_conditionals() -> None:
    made = sampler()
    a, b = made.draw(200_000, np.random.default_rng(1))
    assert abs((a == 2).mean() - 0.8) < 0.005
    assert not np.isin(a, [1]).any()
    assert not np.isin(b, [0, 7, 19]).any()


def test_the_generator_decides_everything() -> None:
    made = sampler()
    first = made.draw(70_000, np.random.default_rng(5))
    again = made.draw(70_000, np.random.default_rng(5))
    other = made.draw(70_000, np.random.default_rng(6))
    assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=True))
    assert not np.array_equal(first[1], other[1])


def test_no_rows() -> None:
    assert [len(column) for column in sampler().draw(0, np.random.default_rng(0))] == [0, 0]
