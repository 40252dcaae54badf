"""Released integers read back as tables, several purchases of one table as one, and what cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privbayes.core.domain import Attribute, Domain
from privbayes.core.residuals import Coordinates, centred
from privbayes.model.observations import FORMS, Observation, combined, excess_error, observed
from privbayes.privacy.released import Measurement

DOMAIN = Domain(
    (
        Attribute(name="a", levels=((0, 1, 2, 3), (0, 1, 1, 0))),
        Attribute.flat("b", 3),
        Attribute.flat("c", 2),
    )
)


def measurement(values: np.ndarray, scale: float = 2.0) -> Measurement:
    return Measurement(label="t", values=values.ravel().astype(np.int64), noise="discrete gaussian", scale=scale)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("axes", [(0,), (2, 4), (4, 0), (0, 2, 3), (1, 3)])
def test_exact_releases_are_read_back_whatever_their_form(form: Any, axes: tuple[int, ...]) -> None:
    """Axes of the domain: a is 0 and (coarse) 1, b is 2, c is 3."""
    axes = tuple({4: 3}.get(axis, axis) for axis in axes)
    shape = [int(DOMAIN.axis_size[axis]) for axis in axes]
    counts = np.random.default_rng(0).integers(0, 90, shape)
    if form == "counts" or (form == "blocks" and len(axes) > 1):
        one = observed(DOMAIN, axes, measurement(counts), form)
        np.testing.assert_array_equal(one.table, counts)
        assert one.variance == 4.0
    else:
        coordinates = Coordinates.of(shape, pure=form != "residual")
        one = observed(DOMAIN, axes, measurement(coordinates.encode(counts)), form)
        np.testing.assert_allclose(one.table, centred(counts.astype(float)), atol=1e-9)
        assert one.variance == pytest.approx(4.0 * coordinates.variance_factor)
    assert one.centred == (form != "counts" and (form != "blocks" or len(axes) == 1))
    assert one.attributes == tuple(int(DOMAIN.axis_attribute[axis]) for axis in axes)
    assert (one.groups is not None) == (1 in axes)
    for i, axis in enumerate(axes):
        assert np.array_equal(one.values(i), DOMAIN.axis_codes(axis))


@pytest.mark.parametrize("form", FORMS)
def test_a_release_of_the_wrong_size_is_refused(form: Any) -> None:
    with pytest.raises(ValueError, match=r"does not match|cannot reshape"):
        observed(DOMAIN, (0, 2), measurement(np.zeros(7)), form)


def test_noise_without_variance_is_taken_as_very_little() -> None:
    scripted = Measurement(label="t", values=np.zeros(3, np.int64), noise="scripted", scale=0.0)
    assert 0 < observed(DOMAIN, (2,), scripted, "counts").variance < 1e-9


def test_purchases_of_one_table_are_weighted_by_their_precision_whatever_their_order() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(4, 3)), rng.normal(size=(3, 4))
    found = combined(
        [
            Observation(attributes=(0, 1), table=first, variance=1.0),
            Observation(attributes=(1, 0), table=second, variance=3.0),
            Observation(attributes=(0, 1), table=first, variance=1.0, centred=False),
        ]
    )
    assert [one.centred for one in found] == [True, False]
    np.testing.assert_allclose(found[0].table, (first + second.T / 3) / (1 + 1 / 3))
    assert found[0].variance == pytest.approx(0.75)


def test_tables_at_different_levels_are_not_mixed() -> None:
    fine = Observation(attributes=(0,), table=np.zeros(4), variance=1.0)
    groups = (np.array([0, 1, 1, 0]),)
    coarse = Observation(attributes=(0,), table=np.ones(2), variance=1.0, groups=groups)
    assert len(combined([fine, coarse, coarse])) == 2


def test_excess_error_is_nothing_for_noise_and_right_for_a_large_error() -> None:
    rng = np.random.default_rng(3)
    expected = np.full((20, 20), 50.0)
    noise = centred(rng.normal(0, 3, (20, 20)))
    only_noise = Observation(attributes=(0, 1), table=noise, variance=9.0)
    error = centred(rng.normal(0, 30, (20, 20)))
    large = Observation(attributes=(0, 1), table=error + noise, variance=9.0)
    assert excess_error(only_noise, expected) < 0.1 * np.abs(error).sum()
    assert excess_error(large, expected) == pytest.approx(np.abs(error).sum(), rel=0.1)


@pytest.mark.parametrize(
    "change",
    [
        {"variance": 0.0},
        {"variance": float("inf")},
        {"strength": 0.0},
        {"strength": float("nan")},
        {"attributes": ()},
        {"attributes": (0,)},
        {"attributes": (1, 1)},
        {"table": np.full((2, 3), np.nan)},
        {"groups": (np.array([0, 1]), np.array([0, 1, 1]))},
        {"groups": (np.array([0, 1]),)},
    ],
)
def test_what_cannot_be_an_observation_is_refused(change: dict[str, Any]) -> None:
    sound: dict[str, Any] = {"attributes": (0, 1), "table": np.zeros((2, 3)), "variance": 1.0}
    Observation(**sound)
    with pytest.raises(ValueError, match="observation"):
        Observation(**{**sound, **change})
