"""`best` decides by released values and public facts only: selection, fit and rows are made again, with no table at
hand, from a recording of what was released, and come out the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tables import binary_schema, binary_table, mixed_schema, mixed_table

from privbayes.core.contingency import Contingency
from privbayes.core.domain import Domain
from privbayes.counts.memory import MemoryBackend
from privbayes.counts.request import MarginalRequests
from privbayes.encoding.codec import Codec
from privbayes.methods.best import BestSpec, fit
from privbayes.methods.prior import Prior
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.noise import Mechanism, OpenDPNoise
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import PrivacyUnit
from privbayes.table.source import read_table


class Recorder:
    """The real noise, remembering what came out."""

    def __init__(self) -> None:
        self.released: list[Any] = []

    def _keeping(self, real: Mechanism) -> Mechanism:
        def invoke(values: Any) -> Any:
            self.released.append(real.invoke(values))
            return self.released[-1]

        return replace(real, invoke=invoke)

    def add_noise(self, **settings: Any) -> Mechanism:
        return self._keeping(OpenDPNoise().add_noise(**settings))

    def choose(self, **settings: Any) -> Mechanism:
        return self._keeping(OpenDPNoise().choose(**settings))

    def pick_rows(self, **settings: Any) -> Mechanism:
        raise AssertionError("best releases no rows")


class Replayer:
    """Says again what was released, whatever it is given."""

    def __init__(self, released: list[Any]) -> None:
        self._next: Iterator[Any] = iter(released)

    def _saying(self, real: Mechanism) -> Mechanism:
        return replace(real, invoke=lambda _: next(self._next))

    def add_noise(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        return self._saying(OpenDPNoise().add_noise(pure=pure, sensitivity=sensitivity, share=share))

    def choose(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        return self._saying(OpenDPNoise().choose(pure=pure, sensitivity=sensitivity, share=share))

    def pick_rows(self, **settings: Any) -> Mechanism:
        raise AssertionError("best releases no rows")

    def nothing_is_left(self) -> bool:
        return next(self._next, None) is None


class NoTable:
    """An engine without a table: it knows the domain and what is public, and answers every count with garbage."""

    def __init__(self, domain: Domain, n_rows: int) -> None:
        self._domain, self._n_rows = domain, n_rows
        self._rng = np.random.default_rng(5)

    @property
    def domain(self) -> Domain:
        return self._domain

    @property
    def n_rows(self) -> int:
        return self._n_rows

    def count(self, requests: MarginalRequests) -> Contingency:
        sizes = requests.sizes(self._domain)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        garbage: NDArray[np.int64] = self._rng.integers(0, 1000, int(offsets[-1]))
        return Contingency(garbage, offsets)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("kind", ["mixed", "binary"])
def test_the_same_model_and_rows_from_the_released_values_alone(
    neighbours: str, delta: float | None, kind: str
) -> None:
    schema, table = (mixed_schema(), mixed_table()) if kind == "mixed" else (binary_schema(8), binary_table(900, 8))
    codec = Codec(schema, "hierarchical")
    encoded = codec.encode(read_table(table))
    backend = MemoryBackend(codec.domain, encoded.columns)
    check_replay(BestSpec(), backend, neighbours, delta)


def check_replay(spec: BestSpec, backend: MemoryBackend, neighbours: str, delta: float | None) -> None:
    """Fit, and fit again from what was released."""
    settings = PrivacyBudget(epsilon=2.0, delta=delta), PrivacyUnit.of(neighbours, 1)
    recorder = Recorder()
    ledger = Ledger(*settings, recorder)
    model, n = fit(spec, backend, ledger)

    replayer = Replayer(recorder.released)
    again_ledger = Ledger(*settings, replayer)
    public_n = backend.n_rows if neighbours == "replace" else 123_456
    again, n_again = fit(spec, NoTable(backend.domain, public_n), again_ledger)

    assert replayer.nothing_is_left()
    assert n_again == n
    assert again_ledger.receipts == ledger.receipts
    assert again.structure() == model.structure()
    np.testing.assert_array_equal(again.parameters, model.parameters)
    np.testing.assert_array_equal(again.pair_tables, model.pair_tables)
    for mine, theirs in zip(
        model.sampler().draw(700, np.random.default_rng(3)),
        again.sampler().draw(700, np.random.default_rng(3)),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("of", ["this-table", "another-table"])
def test_a_prior_changes_nothing_of_that(of: str) -> None:
    table = mixed_table()
    codec = Codec(mixed_schema(), "hierarchical")
    backend = MemoryBackend(codec.domain, codec.encode(read_table(table)).columns)
    ledger = Ledger(PrivacyBudget(epsilon=1.0, delta=1e-6), PrivacyUnit.of("add-remove", 1))
    before, n = fit(BestSpec(), backend, ledger)
    prior = Prior(model=before, of=of, total=n, total_variance=ledger.receipts[0].scale ** 2, words="an earlier one")
    check_replay(BestSpec(prior=prior, prior_of=of), backend, "add-remove", 1e-6)
