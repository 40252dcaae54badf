"""The release as a whole: nothing exact inside, nothing private decides what is public, no event gives a row away."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from math import exp, log
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tables import binary_schema, binary_table, mixed_schema, mixed_table

import privbayes as pb
from privbayes.core.domain import Attribute, Domain
from privbayes.core.residuals import Coordinates
from privbayes.counts.memory import MemoryBackend
from privbayes.counts.request import MarginalRequests
from privbayes.methods.best import BestSpec
from privbayes.methods.best import fit as fit_best
from privbayes.methods.privbayes import PrivBayesSpec, fit
from privbayes.model.joint import JointModel
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.noise import ScriptedNoise
from privbayes.privacy.unit import PrivacyUnit


def test_exact_counts_cannot_be_shown_copied_or_saved() -> None:
    backend = MemoryBackend(Domain((Attribute.flat("x", 2),)), [np.array([0, 1, 1], np.uint8)])
    counts = backend.count(MarginalRequests.of([(0,)]))
    assert "2" not in repr(counts).replace("tables", "")
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be"):
            attempt(counts)


def test_a_model_file_holds_no_value_that_is_not_in_the_schema(tmp_path: Path) -> None:
    schema = mixed_schema()
    table = mixed_table(400)
    secret = "Sentinel-Ward-4711"
    ward = table["ward"].to_pylist()
    ward[17] = secret
    ids = [f"patient-{i:06d}-zq" for i in range(400)]
    table = table.set_column(table.column_names.index("ward"), "ward", pa.array(ward))
    table = table.set_column(0, "pid", pa.array(ids))
    model = pb.fit(table, schema, epsilon=1.0)
    model.save(tmp_path / "m.pbm")
    data = (tmp_path / "m.pbm").read_bytes()
    assert secret.encode() not in data
    assert b"patient-" not in data
    assert b"Attic" not in data


def test_the_bytes_of_a_model_do_not_depend_on_the_rows_beyond_what_was_released(tmp_path: Path) -> None:
    network = {f"b{i}": [f"b{i - 1}"] if i else [] for i in range(5)}
    headers = []
    for seed in range(2):
        model = pb.fit(binary_table(500, seed=seed), binary_schema(), epsilon=1.0, method="privbayes", network=network)
        model.save(tmp_path / "m.pbm")
        data = (tmp_path / "m.pbm").read_bytes()
        length = int.from_bytes(data[12:20], "little")
        headers.append((data[52 : 52 + length], len(data)))
    assert headers[0] == headers[1]


def test_released_tables_are_noisy_and_not_the_exact_ones() -> None:
    table, schema = binary_table(5_000), binary_schema()
    model = pb.fit(table, schema, epsilon=0.5, method="privbayes", max_parents=0)
    same = 0
    for axes, released in model._generator.tables:
        column = table.column(int(axes[0])).to_numpy()
        same += int(np.array_equal(released.values, np.bincount(column, minlength=2)))
    assert same < 2


def test_under_add_remove_nothing_follows_the_private_number_of_rows() -> None:
    """One row more, the same noisy total: every public decision (degree, limits, scales, shares) stays the same."""
    receipts = []
    for rows in (200, 201):
        shift = iter([[1000 - rows]])
        noise = ScriptedNoise(offsets=lambda size, shift=shift: next(shift, [0] * size))
        for schema, table in ((mixed_schema(), mixed_table(rows)),):
            settings = {"method": "privbayes", "epsilon": 20.0, "neighbours": "add-remove"}
            model = pb.fit(table, schema, noise=noise, first="age", **settings)
            plan = pb.plan(schema, 1000, **settings)
            receipts.append((model.n_rows, plan.cell_limit, model.receipts[0].cost))
            assert max(m.values.size for _, m in model._generator.tables) <= (plan.cell_limit or 0)
    assert receipts[0] == receipts[1]
    assert receipts[0][0] == 1000


def test_a_neighbour_is_not_told_apart_beyond_epsilon() -> None:
    """Whole fits on two neighbouring tables of 3 rows: no event over (network, signs of the counts) is more than
    e^epsilon times as likely under one as under the other, at 99.9% confidence over all events.
    """
    domain = Domain((Attribute.flat("x", 2), Attribute.flat("y", 2), Attribute.flat("z", 2)))
    epsilon, fits = 1.0, 1_500
    tables = [np.array([[0, 0, 1]] * 6, np.uint8), np.array([[0, 0, 1]] * 5 + [[1, 1, 0]], np.uint8)]
    seen: list[dict[tuple[object, ...], int]] = []
    for rows in tables:
        events: dict[tuple[object, ...], int] = {}
        backend = MemoryBackend(domain, [np.ascontiguousarray(c) for c in rows.T], threads=1)
        for _ in range(fits):
            ledger = Ledger(PrivacyBudget(epsilon=epsilon), PrivacyUnit())
            model, _ = fit(PrivBayesSpec(max_parents=1, first="x"), backend, ledger)
            order = tuple((p.child, tuple(q.attribute for q in p.parents)) for p in model.network.pairs)
            high = tuple(bool(m.values[0] > 3) for _, m in model.tables)
            for event in (("order", order), ("high", high), ("both", order, high)):
                events[event] = events.get(event, 0) + 1
        seen.append(events)
    check_not_told_apart(*seen, fits=fits, epsilon=epsilon)


TINY = Domain((Attribute.flat("x", 2), Attribute.flat("y", 3)))
ONE_TABLE, ITS_NEIGHBOURS = [[0, 0]] * 6, {"replace": [[0, 0]] * 5 + [[1, 2]], "add-remove": [[0, 0]] * 7}


@pytest.mark.parametrize(("neighbours", "delta"), [("replace", 0.0), ("add-remove", 1e-3)])
def test_a_neighbour_is_not_told_apart_by_best(neighbours: str, delta: float) -> None:
    check_not_told_apart(*fits_of_best(neighbours, 1.0, delta, 2_000), fits=2_000, epsilon=1.0, delta=delta)


@pytest.mark.parametrize(("neighbours", "delta"), [("replace", 0.0), ("add-remove", 1e-3)])
def test_a_release_with_too_little_noise_would_be_told_apart(neighbours: str, delta: float) -> None:
    """The check above can fail: spending epsilon 20 and claiming 1 is caught."""
    seen = fits_of_best(neighbours, 20.0, delta, 400)
    with pytest.raises(AssertionError):
        check_not_told_apart(*seen, fits=400, epsilon=1.0, delta=delta)


def fits_of_best(
    neighbours: str, epsilon: float, delta: float, fits: int
) -> tuple[dict[tuple[object, ...], int], dict[tuple[object, ...], int]]:
    """Fits of `best` on two neighbouring tables, and the events seen: the signs of what was bought, which tables were,
    synthetic rows, and how likely all released values together are under one table as against the other.
    """
    exact = []
    for rows in (ONE_TABLE, ITS_NEIGHBOURS[neighbours]):
        codes = np.array(rows, np.uint8)
        exact.append(MemoryBackend(TINY, [np.ascontiguousarray(c) for c in codes.T], threads=1))
    seen: tuple[dict[tuple[object, ...], int], dict[tuple[object, ...], int]] = ({}, {})
    for backend, events in zip(exact, seen, strict=True):
        for _ in range(fits):
            ledger = Ledger(PrivacyBudget(epsilon=epsilon, delta=delta or None), PrivacyUnit.of(neighbours, 1))
            model, n = fit_best(BestSpec(effort="quick"), backend, ledger)
            likelier = round(_log_odds(model, n, ledger, exact), 0)
            drawn = tuple(int(column[0]) for column in model.sampler().draw(2, np.random.default_rng(1)))
            for event in (
                ("signs", tuple(int(np.sign(m.values[0])) for _, m in model.tables[:3])),
                ("bought", tuple(axes for axes, _ in model.tables)),
                ("drawn", drawn),
                ("likelier", likelier > 0),
                ("likelier by", likelier),
            ):
                events[event] = events.get(event, 0) + 1
    return seen


def _log_odds(model: JointModel, n: int, ledger: Ledger, exact: Sequence[MemoryBackend]) -> float:
    """Log of the odds of the released tables (and of the number of rows) under the first table against the second."""
    pure = ledger.budget.is_pure
    released = [(axes, m.values, m.scale) for axes, m in model.tables]
    found = 0.0
    for axes, values, scale in released:
        coordinates = Coordinates.of([int(TINY.axis_size[a]) for a in axes], pure=pure)
        if pure and len(axes) > 1:  # a block is bought as counts
            coordinates = Coordinates(coordinates.shape, ("whole",) * len(axes))
        for sign, backend in zip((1, -1), exact, strict=True):
            gap = values - coordinates.encode(backend.count(MarginalRequests.of([axes])).table(0))
            found -= sign * float(np.abs(gap).sum() / scale if pure else (gap**2).sum() / (2 * scale**2))
    if not ledger.unit.n_is_public:
        scale = ledger.receipts[0].scale
        found += float((n - exact[1].n_rows) ** 2 - (n - exact[0].n_rows) ** 2) / (2 * scale**2)
    return found


def check_not_told_apart(
    first: dict[tuple[object, ...], int],
    second: dict[tuple[object, ...], int],
    *,
    fits: int,
    epsilon: float,
    delta: float = 0.0,
) -> None:
    """No event is provably more likely under one than e^epsilon times as likely under the other, plus delta: exact
    binomial bounds (Clopper and Pearson), 99.9% confidence over all events together.
    """
    everything = set(first) | set(second)
    alpha = 0.001 / (4 * len(everything))
    loosest = 0.0
    for event in everything:
        for one, other in ((first, second), (second, first)):
            a, b = one.get(event, 0), other.get(event, 0)
            low = stats.beta.ppf(alpha, a, fits - a + 1) if a else 0.0
            high = stats.beta.ppf(1 - alpha, b + 1, fits - b) if b < fits else 1.0
            assert low <= exp(epsilon) * high + delta, event
            if low > delta:
                loosest = max(loosest, log((low - delta) / high))
    print(f"largest provable log-ratio {loosest:.3f} of {epsilon}")
