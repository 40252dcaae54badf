"""PrivABN: what it promises beyond what every method does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables import binary_schema, binary_table, mixed_schema, mixed_table

import privbayes as pb
from privbayes.core.domain import Attribute, Domain
from privbayes.counts.memory import MemoryBackend
from privbayes.counts.request import MarginalRequests
from privbayes.methods import privabn
from privbayes.methods.privabn import PrivABNSpec, fit, tables_to_buy
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.noise import ScriptedNoise, public_generator
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.adaptive import AdaptiveSets


def parents_of(model: pb.Model) -> dict[str, list[str]]:
    return {child: [name for name, _ in parents] for child, parents in model.describe()["network"].items()}


def draws_of(model: pb.Model) -> list[Any]:
    return [receipt for receipt in model.receipts if receipt.label.startswith("choice")]


def test_d_minus_one_draws_share_the_structure_equally_and_tables_get_the_rest() -> None:
    model = pb.fit(binary_table(2_000), binary_schema(), epsilon=1.0, method="privabn", beta=0.4)
    draws = draws_of(model)
    assert len(draws) == 4
    assert [float(draw.cost) for draw in draws] == pytest.approx([0.1] * 4)
    tables = [measurement for _, measurement in model._generator.tables]
    assert {round(m.scale, 6) for m in tables} == {round(2 * len(tables) / 0.6, 6)}


def test_the_degree_is_free_up_to_usefulness() -> None:
    """A bit that is the parity of three others needs all of them; a small budget cannot afford them."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (4_000, 3))
    table = pa.table({**{f"b{i}": bits[:, i] for i in range(3)}, "b3": bits.sum(axis=1) % 2})
    model = pb.fit(table, binary_schema(4), epsilon=1.0, method="privabn", noise=ScriptedNoise(), first="b0")
    assert max(len(parents) for parents in parents_of(model).values()) == 3
    joint = np.array(model.marginal(["b0", "b1", "b2", "b3"])["probability"]).reshape(2, 2, 2, 2)
    assert joint[np.indices((2,) * 4).sum(axis=0) % 2 == 1].max() < 0.001
    tight = pb.fit(table, binary_schema(4), epsilon=0.02, method="privabn")
    limit = pb.plan(binary_schema(4), 4_000, epsilon=0.02, method="privabn").cell_limit
    assert limit is not None
    assert max(m.values.size for _, m in tight._generator.tables) <= max(limit, 2)
    capped = pb.fit(table, binary_schema(4), epsilon=50.0, method="privabn", max_parents=1)
    assert max(len(parents) for parents in parents_of(capped).values()) == 1


@pytest.mark.parametrize("encoding", ["hierarchical", "vanilla", "binary", "gray"])
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_no_table_passes_the_limit_of_the_plan(encoding: str, neighbours: str) -> None:
    table, schema = mixed_table(), mixed_schema()
    options = {"epsilon": 3.0, "method": "privabn", "encoding": encoding, "neighbours": neighbours}
    plan = pb.plan(schema, table.num_rows, **options)
    model = pb.fit(table, schema, **options)
    assert plan.cell_limit is not None
    assert (
        max(m.values.size for _, m in model._generator.tables) <= 1.1 * plan.cell_limit
    )  # n is bought: nearly the same
    assert len(draws_of(model)) <= plan.draws
    assert plan.form == "adaptive"


def test_generalised_parents_are_used_where_they_make_a_set_fit() -> None:
    schema = pb.Schema.from_dict(
        {
            "columns": {
                "age": {"type": "integer", "min": 0, "max": 63, "bins": 64},
                "half": {"type": "boolean"},
            }
        }
    )
    age = np.random.default_rng(0).integers(0, 64, 3_000)
    table = pa.table({"age": age, "half": age >= 32})
    model = pb.fit(table, schema, epsilon=0.5, method="privabn", first="age")
    ((parent, level),) = model.describe()["network"]["half"]
    assert (parent, level > 0) == ("age", True)
    joint = np.array(model.marginal(["age", "half"])["probability"]).reshape(64, 2)
    assert joint[:32, 0].sum() + joint[32:, 1].sum() > 0.9
    plain = pb.fit(table, schema, epsilon=0.2, method="privabn", first="age", encoding="vanilla")
    assert plain.describe()["network"]["half"] == []


def test_scores_asked_for_grow_with_the_square_of_the_columns() -> None:
    """Of d columns: new sets a round are {last} and one union a set in use, for the children still open."""
    asked = {}
    for d in (8, 16):

        class Watched(MemoryBackend):
            tables = 0

            def count(self, requests: MarginalRequests) -> Any:
                Watched.tables += len(requests)
                return super().count(requests)

        rng = np.random.default_rng(1)
        codes = [np.ascontiguousarray(rng.integers(0, 2, 500), np.uint8) for _ in range(d)]
        domain = Domain(tuple(Attribute.flat(f"x{i}", 2) for i in range(d)))
        ledger = Ledger(PrivacyBudget(epsilon=1e6), PrivacyUnit())
        fit(PrivABNSpec(max_parents=2), Watched(domain, codes, threads=1), ledger)
        asked[d] = Watched.tables
        assert asked[d] <= d**3
    assert asked[16] < 10 * asked[8]


def test_what_is_on_offer_follows_from_what_was_placed() -> None:
    domain = Domain(tuple(Attribute.flat(f"x{i}", 2) for i in range(5)))
    sets = AdaptiveSets(domain, 16, 1_000, public_generator())
    sets.place(0, (), 4)
    assert sets.offer(8) == [(domain.axis(0),)]
    sets.place(1, (domain.axis(0),), 3)
    offer = {tuple(int(domain.axis_attribute[a]) for a in axes) for axes in sets.offer(8)}
    assert offer == {(0,), (1,), (0, 1)}
    sets.place(2, (domain.axis(0), domain.axis(1)), 2)
    offer = {tuple(int(domain.axis_attribute[a]) for a in axes) for axes in sets.offer(8)}
    assert offer == {(0,), (1,), (2,), (0, 1), (0, 2), (0, 1, 2)}
    assert {axes for axes in sets.offer(2) if len(axes) > 1} == set()  # no room
    assert not sets.thinned


def test_thinning_ignores_the_rows_and_is_told() -> None:
    plan = pb.plan(binary_schema(30), 50_000, epsilon=5.0, method="privabn", max_candidates=60)
    assert plan.candidates_thinned
    assert any("thinned" in note for note in plan.notes)
    assert not pb.plan(binary_schema(6), 5_000, epsilon=1.0, method="privabn").candidates_thinned


def test_a_table_contained_in_another_is_not_bought() -> None:
    table, schema = binary_table(3_000), binary_schema()
    model = pb.fit(table, schema, epsilon=50.0, method="privabn")
    members = [frozenset(axes) for axes, _ in model._generator.tables]
    assert not any(a < b for a in members for b in members)
    network = model._generator.network
    assert tables_to_buy(model._codec.domain, network) == [axes for axes, _ in model._generator.tables]
    assert len(members) < 5


def test_without_noise_the_greedy_choices_are_the_best_ones() -> None:
    table = binary_table(4_000, 6)
    options = {"epsilon": 1.0, "max_parents": 1, "first": "b0", "method": "privabn"}
    model = pb.fit(table, binary_schema(6), **options, noise=ScriptedNoise())
    assert parents_of(model) == {"b0": [], **{f"b{i}": [f"b{i - 1}"] for i in range(1, 6)}}


def test_with_nothing_to_select_the_tables_get_everything() -> None:
    for options in ({"max_parents": 0}, {"theta": 1e9}):
        model = pb.fit(binary_table(), binary_schema(), epsilon=1.0, method="privabn", **options)
        assert not draws_of(model)
        assert {round(m.scale, 6) for _, m in model._generator.tables} == {10.0}
    plan = pb.plan(binary_schema(), 500, epsilon=1.0, method="privabn", max_parents=0)
    assert (plan.draws, plan.noise_scale) == (0, 10.0)
    assert any("independent" in note for note in plan.notes)


def test_under_add_remove_nothing_follows_the_private_number_of_rows() -> None:
    """One row more, the same noisy total: every public decision stays the same."""
    seen = []
    for rows in (200, 201):
        shift = iter([[1_000 - rows]])
        noise = ScriptedNoise(offsets=lambda size, shift=shift: next(shift, [0] * size), choices=[0] * 20)
        model = pb.fit(
            mixed_table(rows), mixed_schema(), epsilon=20.0, method="privabn", neighbours="add-remove",
            noise=noise, first="age",
        )  # fmt: skip
        seen.append((model.n_rows, model.describe()["network"], [receipt.cost for receipt in model.receipts]))
    assert seen[0] == seen[1]
    assert seen[0][0] == 1_000


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"score": "Q"}, "score must be"),
        ({"beta": 0}, "beta must lie"),
        ({"beta": 1.0}, "beta must lie"),
        ({"theta": 0}, "theta must be positive"),
        ({"max_parents": -1}, "max_parents must be"),
        ({"max_candidates": 0}, "max_candidates must be"),
        ({"first": "nope"}, "first = 'nope'"),
        ({"score": "I", "neighbours": "add-remove"}, "score I has no finite bound"),
    ],
)
def test_wrong_knobs_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(pb.PrivBayesError, match=reason):
        pb.fit(binary_table(), binary_schema(), epsilon=1.0, method="privabn", **options)
    with pytest.raises(pb.PrivBayesError, match=reason):
        pb.plan(binary_schema(), 500, epsilon=1.0, method="privabn", **options)


def test_every_score_works_where_it_may() -> None:
    for score in ("I", "F", "R"):
        assert pb.fit(binary_table(), binary_schema(), epsilon=1.0, method="privabn", score=score).is_private
    with pytest.raises(pb.UnsupportedError, match="score F needs every attribute binary"):
        pb.fit(mixed_table(200), mixed_schema(), epsilon=1.0, method="privabn", score="F")


def test_hundreds_of_columns() -> None:
    table, schema = binary_table(3_000, 150), binary_schema(150)
    model = pb.fit(table, schema, epsilon=200.0, method="privabn")
    assert len(model.describe()["network"]) == 150
    assert model.sample(20, seed=0).shape == (20, 150)
    chained = sum(
        abs(int(child[1:]) - int(name[1:])) == 1 for child, parents in parents_of(model).items() for name in parents
    )
    assert chained > 20


def test_too_many_values_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privabn, "MAX_CELLS", 9)
    with pytest.raises(pb.UnsupportedError, match=r"columns alone have 10 values"):
        pb.plan(binary_schema(), 100, epsilon=1.0, method="privabn")
