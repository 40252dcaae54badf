"""`best` with a prior: an earlier release of the same table, or a model of another one."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from tables import binary_schema, binary_table, mixed_schema, mixed_table

import privbayes as pb
from privbayes.errors import UnsupportedError
from privbayes.privacy.noise import Mechanism, ScriptedNoise
from privbayes.privacy.sensitivity import Sensitivity

COLUMNS = 8
SCHEMA = binary_schema(COLUMNS)


class SeededNoise:
    """Noise of the real scale from a seed: rounded, so not private, and it says so."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def add_noise(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        scale = sqrt(float(sensitivity.l2_squared or 0) / (2 * float(share)))

        def invoke(values: NDArray[np.int64]) -> NDArray[np.int64]:
            return values + np.rint(self.rng.normal(0, scale, len(values))).astype(np.int64)

        return Mechanism(name="discrete gaussian", scale=scale, cost=share, private=False, invoke=invoke)

    def choose(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        scale = float(sensitivity.linf or 0) / sqrt(2 * float(share))

        def invoke(scores: NDArray[np.int64]) -> int:
            return int(np.argmax(scores / scale + self.rng.gumbel(size=len(scores))))

        return Mechanism(name="exponential mechanism", scale=scale, cost=share, private=False, invoke=invoke)

    def pick_rows(self, **settings: Any) -> Mechanism:
        raise AssertionError("best releases no rows")


def fit(table: pa.Table, seed: int = 0, *, epsilon: float = 0.1, **options: Any) -> pb.Model:
    return pb.fit(
        table,
        SCHEMA,
        epsilon=epsilon,
        delta=1e-9,
        method="best",
        neighbours="add-remove",
        noise=SeededNoise(seed),
        **options,
    )


def error(model: pb.Model, table: pa.Table) -> float:
    """Mean total variation distance over all pairs."""
    frame = table.to_pandas()
    found = []
    for pair in itertools.combinations(frame.columns, 2):
        truth = frame.groupby(list(pair)).size().reindex([(a, b) for a in (0, 1) for b in (0, 1)], fill_value=0)
        known = model.marginal(list(pair), as_="pandas")["probability"].to_numpy()
        found.append(0.5 * np.abs(known - truth.to_numpy() / len(frame)).sum())
    return float(np.mean(found))


def errors(table: pa.Table, **options: Any) -> float:
    return float(np.mean([error(fit(table, seed, **options), table) for seed in range(4)]))


@pytest.fixture(scope="module")
def this_year() -> pa.Table:
    return binary_table(6_000, COLUMNS, seed=1)


@pytest.fixture(scope="module")
def last_year() -> pb.Model:
    """Other people, alike: all is known of them."""
    return fit(binary_table(20_000, COLUMNS, seed=2), epsilon=50.0)


@pytest.fixture(scope="module")
def elsewhere() -> pb.Model:
    """Other people, not alike: each bit is the opposite of the one before it."""
    bits = binary_table(20_000, COLUMNS, seed=3).to_pandas()
    for a in range(1, COLUMNS, 2):
        bits[f"b{a}"] = 1 - bits[f"b{a}"]
    return fit(pa.Table.from_pandas(bits, preserve_index=False), epsilon=50.0)


def test_a_good_prior_halves_the_error_and_a_bad_one_does_little_harm(
    this_year: pa.Table, last_year: pb.Model, elsewhere: pb.Model
) -> None:
    alone = errors(this_year)
    assert errors(this_year, prior=last_year, prior_of="another-table") < 0.5 * alone
    assert errors(this_year, prior=elsewhere, prior_of="another-table") < 1.25 * alone


def test_an_earlier_release_of_the_same_table_is_used_again(this_year: pa.Table) -> None:
    first = fit(this_year, 9, epsilon=0.2)
    both = [fit(this_year, seed, epsilon=0.2, prior=first, prior_of="this-table") for seed in range(4)]
    assert np.mean([error(model, this_year) for model in both]) < 0.9 * errors(this_year, epsilon=0.2)
    again = both[0].describe()
    assert len(again["tables"]) > len(first.describe()["tables"])
    # What this release costs is its own; that of the earlier one comes on top.
    assert again["spent"]["sum_of_receipts"] <= first.guarantee.rho * (1 + 1e-9)
    assert "this table" in again["spec"]["prior"]


@pytest.mark.parametrize("prior_of", ["this-table", "another-table"])
def test_the_file_stands_on_its_own(this_year: pa.Table, tmp_path: Path, prior_of: str) -> None:
    before = tmp_path / "before.pbm"
    fit(this_year, 9, epsilon=0.4).save(before)
    model = fit(this_year, 1, epsilon=0.4, prior=before, prior_of=prior_of)
    before.unlink()
    model.save(tmp_path / "m.pbm")
    again = pb.load(tmp_path / "m.pbm")
    for pair in itertools.combinations(SCHEMA.columns, 2):
        assert again.marginal(list(pair), as_="pandas").equals(model.marginal(list(pair), as_="pandas"))
    assert again.marginal(["b0", "b3", "b6"], as_="pandas").equals(model.marginal(["b0", "b3", "b6"], as_="pandas"))
    assert again.sample(300, seed=1, as_="pandas").equals(model.sample(300, seed=1, as_="pandas"))


@pytest.mark.parametrize("method", ["privbayes", "independent", "best"])
def test_any_method_can_make_a_prior_of_another_table(method: str) -> None:
    prior = pb.fit(mixed_table(seed=4), mixed_schema(), epsilon=5.0, method=method, noise=ScriptedNoise())
    model = pb.fit(
        mixed_table(), mixed_schema(), epsilon=1.0, delta=1e-9, method="best", prior=prior, prior_of="another-table"
    )
    assert model.is_private
    assert any(receipt.label.startswith("choice of a reference") for receipt in model.receipts)
    assert len(model.sample(50, seed=0, as_="pandas")) == 50


def test_mistakes_are_named_before_a_row_is_read(last_year: pb.Model, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.csv")
    settings: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-9, "method": "best"}
    with pytest.raises(UnsupportedError, match="prior_of must be one of this-table, another-table"):
        pb.fit(missing, SCHEMA, prior=last_year, **settings)
    with pytest.raises(UnsupportedError, match="no prior is given"):
        pb.fit(missing, SCHEMA, prior_of="this-table", **settings)
    with pytest.raises(UnsupportedError, match="column 'b8' is not the same"):
        pb.fit(missing, binary_schema(9), prior=last_year, prior_of="this-table", **settings)
    with pytest.raises(UnsupportedError, match="a prior is a privbayes model"):
        pb.fit(missing, SCHEMA, prior=3, prior_of="this-table", **settings)
    bits = pb.fit(mixed_table(), mixed_schema(), epsilon=5.0, method="independent", encoding="binary")
    with pytest.raises(UnsupportedError, match="fitted in bits"):
        pb.fit(missing, mixed_schema(), prior=bits, prior_of="another-table", **settings)


def test_what_cannot_be_used_is_refused_before_anything_is_bought(this_year: pa.Table, last_year: pb.Model) -> None:
    with pytest.raises(UnsupportedError, match="a prior needs delta"):
        pb.fit(this_year, SCHEMA, epsilon=1.0, method="best", prior=last_year, prior_of="another-table")
    other = pb.fit(this_year, SCHEMA, epsilon=5.0, method="privbayes")
    with pytest.raises(UnsupportedError, match="must be a release by method best with delta"):
        fit(this_year, prior=other, prior_of="this-table")
