"""A table taken apart into interaction parts: it can be put together again, and each part knows its noise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from privbayes.core.domain import Attribute, Domain
from privbayes.core.residuals import centred
from privbayes.model.interactions import MOST_AXES, interaction_parts, observations_of
from privbayes.model.observations import Observation, observed
from privbayes.privacy.released import Measurement

DOMAIN = Domain(
    (
        Attribute(name="a", levels=((0, 1, 2, 3), (0, 0, 1, 1))),
        Attribute.flat("b", 3),
        Attribute.flat("c", 2),
        Attribute.flat("d", 1),
    )
)


def released(values: np.ndarray, scale: float = 3.0) -> Measurement:
    return Measurement(label="t", values=values.ravel().astype(np.int64), noise="discrete gaussian", scale=scale)


def axes(*members: tuple[int, int]) -> tuple[int, ...]:
    return tuple(DOMAIN.axis(a, level) for a, level in members)


def parts_of(members: tuple[int, ...], measurement: Measurement) -> list[Observation]:
    return list(interaction_parts(observed(DOMAIN, members, measurement, "counts")))


def test_the_parts_of_a_table_add_up_to_it() -> None:
    table = np.random.default_rng(0).integers(-5, 60, (2, 3, 4))
    parts = parts_of(axes((2, 0), (1, 0), (0, 0)), released(table))
    assert [part.attributes for part in parts] == [(2,), (1,), (0,), (2, 1), (2, 0), (1, 0), (2, 1, 0)]
    whole = np.full(table.shape, table.mean())
    for part in parts:
        np.testing.assert_allclose(centred(part.table), part.table, atol=1e-12)
        place = [(2, 1, 0).index(a) for a in part.attributes]
        spread = np.expand_dims(part.table, tuple(i for i in range(3) if i not in place))
        whole = whole + spread * part.table.size / table.size
    np.testing.assert_allclose(whole, table, atol=1e-9)


def test_each_part_has_the_noise_of_its_marginal() -> None:
    """Noise on the cells of b x a, read as the part of b: 4 cells behind each; the projection takes a third."""
    rng = np.random.default_rng(1)
    members = axes((1, 0), (0, 0))
    seen = [parts_of(members, released(rng.normal(0, 3, 12) * 100, 300.0)) for _ in range(3000)]
    for i, factor in ((0, 4 * 2 / 3), (1, 3 * 3 / 4), (2, 6 / 12)):
        found = np.mean([parts[i].table ** 2 for parts in seen])
        assert seen[0][i].variance * (factor / {0: 4, 1: 3, 2: 1}[i]) == pytest.approx(300.0**2 * factor)
        assert found == pytest.approx(300.0**2 * factor, rel=0.06)


def test_coarse_axes_are_grouped_and_axes_of_one_value_left_out() -> None:
    table = np.arange(12).reshape(2, 2, 3, 1)
    parts = parts_of(axes((2, 0), (0, 1), (1, 0), (3, 0)), released(table))
    assert all(3 not in part.attributes for part in parts)
    for part in parts:
        if 0 in part.attributes:
            assert part.groups is not None
            assert part.groups[part.attributes.index(0)].tolist() == [0, 0, 1, 1]
        else:
            assert part.groups is None


def test_large_interactions_are_left_out() -> None:
    domain = Domain(tuple(Attribute.flat(f"x{i}", 2) for i in range(5)))
    everything = tuple(int(axis) for axis in domain.first_axis)
    parts = list(interaction_parts(observed(domain, everything, released(np.arange(32)), "counts")))
    expected = {s for k in range(1, MOST_AXES + 1) for s in itertools.combinations(range(5), k)}
    assert {part.attributes for part in parts} == expected


def test_equal_parts_of_several_tables_are_averaged_and_coarser_ones_kept_apart() -> None:
    first = (axes((1, 0), (2, 0)), released(np.array([[10, 0], [0, 0], [0, 0]]), 2.0))
    second = (
        axes(
            (1, 0),
        ),
        released(np.array([0, 6, 0]), 1.0),
    )
    third = (
        axes(
            (0, 1),
        ),
        released(np.array([5, 9])),
    )
    fourth = (
        axes(
            (0, 0),
        ),
        released(np.array([5, 9, 1, 1])),
    )
    found = observations_of(DOMAIN, [first, second, third, fourth], "counts")
    of_b = [one for one in found if one.attributes == (1,)]
    assert len(of_b) == 1
    # b: variance 8 from the first (two cells behind each), 1 from the second
    weights = np.array([1 / 8, 1.0])
    expected = (centred(np.array([10.0, 0, 0])) / 8 + centred(np.array([0.0, 6, 0]))) / weights.sum()
    np.testing.assert_allclose(of_b[0].table, expected)
    assert of_b[0].variance == pytest.approx(1 / weights.sum())
    assert sorted(len(one.table) for one in found if one.attributes == (0,)) == [2, 4]


def block(table: np.ndarray) -> Observation:
    return Observation(attributes=(5, 2, 7), table=table, variance=2.0, centred=False)


def test_noise_of_two_parts_is_not_correlated_and_as_large_as_they_say() -> None:
    """Exactly: the parts are linear in the cells, whose noise is independent with variance 2."""
    cells = np.eye(24).reshape(24, 3, 2, 4)
    rows = [[one.table.ravel() for one in interaction_parts(block(cell), 2)] for cell in cells]
    maps = [np.array([row[p] for row in rows]).T for p in range(6)]
    for one, matrix in zip(interaction_parts(block(cells[0]), 2), maps, strict=True):
        projection = np.ones((1, 1))
        for size in one.table.shape:
            projection = np.kron(projection, np.eye(size) - 1 / size)
        np.testing.assert_allclose(2.0 * matrix @ matrix.T, one.variance * projection, atol=1e-12)
    for one_map, other in itertools.combinations(maps, 2):
        np.testing.assert_allclose(one_map @ other.T, 0.0, atol=1e-12)


def test_blocks_and_single_columns_come_together_as_one_observation_each() -> None:
    domain = Domain(tuple(Attribute(name=name, levels=(tuple(range(size)),)) for name, size in (("a", 2), ("b", 3))))
    noise = {"noise": "discrete laplace", "scale": 3.0}
    pair = Measurement(label="table a x b", values=np.array([5, 1, 2, 3, 4, 9]), **noise)
    single = Measurement(label="interaction a", values=np.array([-6]), unit=0.5, **noise)
    seen = {one.attributes: one for one in observations_of(domain, [((0, 1), pair), ((0,), single)], "blocks")}
    assert set(seen) == {(0,), (1,), (0, 1)}
    # Of column a: -4 by the block, whose variance is three cells', and -3 by the contrast, with half that of a value.
    at_block, at_contrast = 3 * pair.variance, single.variance / 2
    weight = at_contrast / (at_block + at_contrast)
    np.testing.assert_allclose(seen[(0,)].table, [-3 - weight, 3 + weight])
    assert seen[(0,)].variance == pytest.approx(1 / (1 / at_block + 1 / at_contrast))
