"""The front door: `fit`, `plan`, `load` and the `Model` they lead to. Joins the stages, decides nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from privbayes.counts.registry import engine_names
from privbayes.errors import UnsupportedError
from privbayes.methods.best import BestSpec
from privbayes.methods.histogram import SmoothedHistogramSpec
from privbayes.methods.independent import IndependentSpec
from privbayes.methods.jtree import JTreeSpec
from privbayes.methods.plan import Plan
from privbayes.methods.privabn import PrivABNSpec
from privbayes.methods.privbayes import PrivBayesSpec
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.released import Guarantee, Receipt
from privbayes.privacy.unit import PrivacyUnit
from privbayes.schema.check import check_schema
from privbayes.schema.draft import draft_schema
from privbayes.schema.schema import Schema
from privbayes.table.files import check_writable_name, write_table

if TYPE_CHECKING:
    import pyarrow as pa

    from privbayes.encoding.codec import Codec
    from privbayes.methods.prior import Prior
    from privbayes.model.protocol import GenerativeModel
    from privbayes.modelfile.format import ModelRecord
    from privbayes.privacy.noise import NoiseSource

__all__ = [
    "METHODS",
    "Best",
    "Independent",
    "JTree",
    "Model",
    "Plan",
    "PrivABN",
    "PrivBayes",
    "Schema",
    "SmoothedHistogram",
    "check_schema",
    "check_writable_name",
    "draft_schema",
    "engine_names",
    "fit",
    "load",
    "plan",
    "write_table",
]

Progress = Callable[[str, int, int], None]

BATCH_ROWS = 262_144  # fixed: the same seed gives the same rows however they are asked for


class Method:
    """What every method's class shares: its knobs are a frozen dataclass, its work is a module of `privbayes.methods`
    with ``fit(spec, counts, ledger, progress) -> (model, number of rows)`` and ``plan(spec, domain, ...) -> Plan``.
    """

    name: ClassVar[str]
    module: ClassVar[str]
    epsilon: float
    delta: float | None
    neighbours: str
    encoding: str

    def fit(
        self,
        source: Any,
        schema: Schema,
        *,
        engine: str = "memory",
        progress: Progress | None = None,
        noise: NoiseSource | None = None,
    ) -> Model:
        """Learn a model from a private table. A second fit is a second spend. ``noise`` is for tests: it taints."""
        from privbayes.counts.registry import open_backend
        from privbayes.encoding.codec import Codec, output_types
        from privbayes.table.source import read_table

        ledger = Ledger(
            PrivacyBudget(epsilon=self.epsilon, delta=self.delta),
            PrivacyUnit.of(self.neighbours, schema.rows_per_person),
            noise,
        )
        codec = Codec(schema, self.encoding)
        ready = self.ready(codec)
        table = read_table(source)
        encoded = codec.encode(table, progress=progress)
        output = {"columns": list(table.columns), "types": output_types(schema, table), "kind": table.kind}
        del table
        counts = open_backend(engine, codec.domain, encoded.columns)
        generator, n_rows = import_module(self.module).fit(ready, counts, ledger, progress)
        return Model(
            method=self.name,
            spec=ready.spec(),
            codec=codec,
            generator=generator,
            n_rows=n_rows,
            guarantee=ledger.guarantee(),
            receipts=ledger.receipts,
            output=output,
        )

    def plan(self, schema: Schema, n_rows: int) -> Plan:
        """What a fit would buy and how much noise that means, from public facts alone."""
        from privbayes.encoding.codec import Codec

        if isinstance(n_rows, bool) or not isinstance(n_rows, int) or n_rows < 1:
            raise UnsupportedError(f"the number of rows must be a whole number of at least 1, not {n_rows!r}")
        planned: Plan = import_module(self.module).plan(
            self,
            Codec(schema, self.encoding).domain,
            n=n_rows,
            budget=PrivacyBudget(epsilon=self.epsilon, delta=self.delta),
            unit=PrivacyUnit.of(self.neighbours, schema.rows_per_person),
        )
        return planned

    def ready(self, codec: Codec) -> Method:
        """The same method with what its knobs point at, loaded and checked before any row is read."""
        return self

    def spec(self) -> dict[str, Any]:
        """Every knob in plain values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class PrivBayes(PrivBayesSpec, Method):
    """PrivBayes with every knob of the papers: ``PrivBayes(epsilon=1.0, score="R").fit(df, schema)``.

    epsilon, delta: the budget; without delta pure epsilon and Laplace noise, with it zCDP and Gaussian noise.
    neighbours: "replace" (the number of rows is public) or "add-remove".
    score: "I", "F", "R", or "auto" (F when all is binary, else R).
    encoding: "hierarchical", "vanilla", "binary" or "gray".
    beta: share of the budget for the structure; theta: usefulness a bought table must have.
    max_parents: the degree k (binary form) or a cap on parents (general form).
    first: the attribute the network starts from; network: a network to use, so that nothing is spent on structure.
    max_candidates: cap on candidates a round; above it they are thinned without looking at the data.
    """

    name: ClassVar[str] = "privbayes"
    module: ClassVar[str] = "privbayes.methods.privbayes"

    epsilon: float
    delta: float | None = None
    neighbours: str = "replace"


@dataclass(frozen=True, kw_only=True)
class JTree(JTreeSpec, Method):
    """JTree: a dependency graph of pairs, the cliques of its junction tree, and noisy tables of cliques merged.

    epsilon, delta: the budget; without delta pure epsilon and Laplace noise, with it zCDP and Gaussian noise.
    neighbours: "replace" (the number of rows is public) or "add-remove".
    score: "R" (also "auto") or, as in the paper, "I".
    encoding: "vanilla" or "hierarchical" (the same here), "binary" or "gray".
    beta: share of the budget for the graph; theta: usefulness a clique's table must have, which bounds cliques.
    phi: the Cramer's V that pairs are held against.
    edges: how many links, or "tree" for links that join components only; by default four a column (pure epsilon), or
    all that pass their thresholds (zCDP).
    merge: "auto" (least noise variance: exact for few cliques, local search beyond), "cccp" (the paper's relaxation) or
    "none". infer: "paper" (consistency once, small counts cut off), "consistent" (in rounds) or "joint" (one fit of the
    junction tree to all tables).
    """

    name: ClassVar[str] = "jtree"
    module: ClassVar[str] = "privbayes.methods.jtree"

    epsilon: float
    delta: float | None = None
    neighbours: str = "replace"


@dataclass(frozen=True, kw_only=True)
class PrivABN(PrivABNSpec, Method):
    """PrivABN: an adaptive network for tables of hundreds of columns, repaired so that its guarantee holds.

    epsilon, delta: the budget; without delta pure epsilon and Laplace noise, with it zCDP and Gaussian noise.
    neighbours: "replace" (the number of rows is public) or "add-remove".
    score: "I", "F" or "R"; "auto" is R, which does well on sparse columns too.
    encoding: "hierarchical", "vanilla", "binary" or "gray".
    beta: share of the budget for the structure; theta: usefulness a table must have, which bounds the degree.
    max_parents: a cap on parents; first: the attribute the network starts from.
    max_candidates: cap on new candidates a round; above it they are thinned without looking at the data.
    """

    name: ClassVar[str] = "privabn"
    module: ClassVar[str] = "privbayes.methods.privabn"

    epsilon: float
    delta: float | None = None
    neighbours: str = "replace"


@dataclass(frozen=True, kw_only=True)
class SmoothedHistogram(SmoothedHistogramSpec, Method):
    """The smoothed histogram: a few whole rows, each from the table or, with chance delta, from anywhere.

    epsilon, delta: the budget (this delta is not the smoothing); without delta pure epsilon, with it zCDP.
    neighbours: "replace" (the number of rows is public) or "add-remove".
    rows: how many rows to release (k); by default the largest k that keeps ``smoothing``.
    smoothing: the share of released rows that may be noise, 0.25 if not said.
    encoding: only "vanilla" makes sense; in bits there are more cells.
    """

    name: ClassVar[str] = "histogram"
    module: ClassVar[str] = "privbayes.methods.histogram"

    epsilon: float
    delta: float | None = None
    neighbours: str = "replace"


@dataclass(frozen=True, kw_only=True)
class Independent(IndependentSpec, Method):
    """One noisy table a column, columns drawn independently: the baseline every structure has to beat.

    epsilon, delta: the budget; without delta pure epsilon and Laplace noise, with it zCDP and Gaussian noise.
    neighbours: "replace" (the number of rows is public) or "add-remove".
    encoding: "vanilla" or "hierarchical" (the same here); in "binary" and "gray" the bits are independent too.
    """

    name: ClassVar[str] = "independent"
    module: ClassVar[str] = "privbayes.methods.independent"

    epsilon: float
    delta: float | None = None
    neighbours: str = "replace"


@dataclass(frozen=True, kw_only=True)
class Best(BestSpec, Method):
    """The most accurate method: noisy columns, the errors of all pairs, then interaction tables where they are worth
    most, and one model fitted jointly to everything bought.

    epsilon, delta: the budget; without delta pure epsilon and Laplace noise, with it zCDP and Gaussian noise, which
        buys several times the accuracy for a chance of delta (1e-9) that the promise fails.
    neighbours: "replace" (the number of rows is public) or "add-remove".
    encoding: "hierarchical" or "vanilla".
    effort: "quick", "normal" or "thorough": how large the model may grow, and how long it is fitted.
    workload: what is to be right: "pairs" of columns, "triples" too, or a list such as [["age", "income"], ...].
    target: a column to be predicted: its pairs weigh more, and triples with it are bought.
    weights: how much columns count, such as {"age": 2.0}; 1 where nothing is said.
    prior: a model, or the file of one, over the same schema, to start from; needs delta.
    prior_of: what that is a model of. "this-table": an earlier release by `best`, whose purchases are used again; the
        budgets of both releases add up. "another-table": public, or of other people (last year's); how far it is to be
        believed is bought with 3% of the budget, so that a wrong one does little harm.
    """

    name: ClassVar[str] = "best"
    module: ClassVar[str] = "privbayes.methods.best"

    epsilon: float
    delta: float | None = None
    neighbours: str = "replace"

    def ready(self, codec: Codec) -> Method:
        """With the prior as a model that fits the schema."""
        if self.prior is None:
            return self
        prior = load(self.prior) if isinstance(self.prior, (str, Path)) else self.prior
        if not isinstance(prior, Model):
            raise UnsupportedError("a prior is a privbayes model, or the path of its file")
        return replace(self, prior=prior.as_prior(codec, str(self.prior_of)))

    def spec(self) -> dict[str, Any]:
        """Every knob in plain values: of a prior, what it promised."""
        return {**super().spec(), "prior": None if self.prior is None else str(self.prior)}


METHODS: Mapping[str, type[Method]] = {
    method.name: method for method in (Best, PrivBayes, JTree, PrivABN, SmoothedHistogram, Independent)
}


def fit(
    source: Any,
    schema: Schema,
    *,
    epsilon: float,
    delta: float | None = None,
    method: str = "best",
    neighbours: str = "replace",
    engine: str = "memory",
    progress: Progress | None = None,
    noise: NoiseSource | None = None,
    **options: Any,
) -> Model:
    """Learn a model of a private table with (epsilon, delta)-differential privacy.

    source: a pandas, polars or Arrow frame, a DuckDB relation, or the path of a CSV, Parquet or Arrow file.
    method: "best" unless another is named; "privbayes" is the papers' own.
    options: the knobs of the method, see `Best` and `PrivBayes`.
    """
    chosen = _method(method, epsilon=epsilon, delta=delta, neighbours=neighbours, **options)
    return chosen.fit(source, schema, engine=engine, progress=progress, noise=noise)


def plan(
    schema: Schema,
    n_rows: int,
    *,
    epsilon: float,
    delta: float | None = None,
    method: str = "best",
    neighbours: str = "replace",
    **options: Any,
) -> Plan:
    """What a fit would buy, and the error to expect, before any row is read."""
    return _method(method, epsilon=epsilon, delta=delta, neighbours=neighbours, **options).plan(schema, n_rows)


def load(path: str | Path) -> Model:
    """A model from its file."""
    from privbayes.modelfile.read import read_model

    return Model._from_record(read_model(path), str(path))


def _method(method: str, **options: Any) -> Method:
    if method not in METHODS:
        raise UnsupportedError(f"there is no method {method!r}; there are: {', '.join(METHODS)}")
    known = _knobs(METHODS[method])
    unknown = sorted(set(options) - set(known))
    if unknown:
        others = [name for name, one in METHODS.items() if unknown[0] in _knobs(one)]
        hint = f" ({unknown[0]} belongs to method {' and '.join(others)})" if others else ""
        raise UnsupportedError(f"{method} has no option {unknown[0]!r}{hint}; there are: {', '.join(known)}")
    return METHODS[method](**options)


def _knobs(method: type[Method]) -> list[str]:
    return [field.name for field in fields(method)]  # type: ignore[arg-type]


class Model:
    """A fitted model: sample from it, ask it for marginals, save it. It holds released values only."""

    def __init__(
        self,
        *,
        method: str,
        spec: Mapping[str, Any],
        codec: Codec,
        generator: GenerativeModel,
        n_rows: int,
        guarantee: Guarantee,
        receipts: Sequence[Receipt],
        output: Mapping[str, Any],
    ) -> None:
        self.method = method
        self.spec = dict(spec)
        self.n_rows = n_rows
        self.guarantee = guarantee
        self.receipts = tuple(receipts)
        self._codec = codec
        self._generator = generator
        self._output = dict(output)

    @property
    def schema(self) -> Schema:
        """The schema the model was fitted with."""
        return self._codec.schema

    @property
    def epsilon(self) -> float:
        """The promised epsilon (infinite when the model was made with scripted noise)."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        """The promised delta, 0 under pure epsilon."""
        return self.guarantee.delta

    @property
    def is_private(self) -> bool:
        """False when the model was made with scripted noise, for tests."""
        return self.guarantee.private

    def __repr__(self) -> str:
        return f"<privbayes model: {self.method}, {len(self.schema.columns)} columns, {self.guarantee.sentence()}>"

    def sample(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        where: Mapping[str, Any] | None = None,
        as_: str | None = None,
    ) -> Any:
        """``n`` synthetic rows (default: as many as were fitted), as the kind of frame that came in.

        seed: the same rows again. where: exact conditioning, ``{"sex": "Female"}`` or a list of values.
        as_: "pandas", "polars" or "arrow".
        """
        import pyarrow as pa

        from privbayes.table.frames import to_frame

        batches = list(self.sample_batches(n, seed=seed, where=where))
        return to_frame(pa.concat_tables(batches), as_ or self._output["kind"])

    def sample_batches(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        where: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Iterator[pa.Table]:
        """The same rows as `sample`, in Arrow tables of bounded size, for writing as they come."""
        from privbayes.sample.stream import synthetic_tables

        rows = self.n_rows if n is None else n
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
            raise UnsupportedError(f"the number of rows must be a whole number of 0 or more, not {rows!r}")
        return synthetic_tables(
            self._codec,
            self._generator,
            rows,
            seed=seed,
            where=where or {},
            batch_rows=BATCH_ROWS,
            order=self._output["columns"],
            types=self._output["types"],
            progress=progress,
        )

    def marginal(self, columns: Sequence[str] | str, *, as_: str | None = None) -> Any:
        """The joint distribution of some columns under the model, exactly: a frame of labels and ``probability``."""
        from privbayes.sample.answers import marginal_table
        from privbayes.table.frames import to_frame

        names = [columns] if isinstance(columns, str) else list(columns)
        return to_frame(marginal_table(self._codec, self._generator, names), as_ or self._output["kind"])

    def as_prior(self, codec: Codec, prior_of: str) -> Prior:
        """The model as `best` takes a prior, for tables of this codec; refused where it is over other columns."""
        from privbayes.methods.prior import Prior

        mine, theirs = codec.schema.to_dict()["columns"], self.schema.to_dict()["columns"]
        different = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
        if different:
            raise UnsupportedError(f"the prior has another schema: column {different[0]!r} is not the same")
        if self._codec.domain.cardinalities != codec.domain.cardinalities:
            raise UnsupportedError("the prior was fitted in bits: fit it with encoding hierarchical or vanilla")
        bought = [receipt.scale for receipt in self.receipts if receipt.label == "number of rows"]
        return Prior(
            model=self._generator,
            of=prior_of,
            total=float(self.n_rows),
            total_variance=sum(scale**2 for scale in bought),
            words=f"{self.method}: {self.guarantee.sentence()}",
        )

    def save(self, path: str | Path) -> None:
        """Write the model to a file; a model that is not private says so there too."""
        from privbayes.modelfile.write import write_model

        write_model(self._record(), path)

    def describe(self) -> dict[str, Any]:
        """Everything the model says about itself, in plain values."""
        domain = self._codec.domain
        return {
            "method": self.method,
            "guarantee": self.guarantee.to_dict() | {"sentence": self.guarantee.sentence()},
            "spent": {
                "unit": "epsilon" if self.guarantee.rho is None else "rho",
                "sum_of_receipts": float(sum(receipt.cost for receipt in self.receipts)),
            },
            "n_rows": self.n_rows,
            "columns": list(self._output["columns"]),
            "spec": self.spec,
            **self._generator.structure(),
            "tables": [
                {
                    "columns": [domain.names[domain.axis_attribute[axis]] for axis in axes],
                    "levels": [domain.axis_level(axis) for axis in axes],
                    "cells": int(m.values.size),
                    "noise": m.noise,
                    "scale": m.scale,
                    "expected_absolute_noise": m.expected_absolute_noise,
                }
                for axes, m in self._generator.tables
            ],
            "receipts": [receipt.to_dict() for receipt in self.receipts],
        }

    def _record(self) -> ModelRecord:
        from privbayes.modelfile.format import ModelRecord

        return ModelRecord(
            method=self.method,
            schema=self.schema.to_dict(),
            spec=self.spec,
            structure=self._generator.structure(),
            tables=self._generator.tables,
            parameters=self._generator.parameters,
            n_rows=self.n_rows,
            guarantee=self.guarantee,
            receipts=self.receipts,
            output=self._output,
        )

    @staticmethod
    def _from_record(record: ModelRecord, name: str) -> Model:
        from privbayes.encoding.codec import Codec
        from privbayes.errors import ModelFileError, PrivBayesError
        from privbayes.model.read import generator_of

        try:
            schema = Schema.from_dict(record.schema)
            codec = Codec(schema, record.spec["encoding"])
            generator = generator_of(codec.domain, record.structure, record.tables, record.parameters)
            if sorted(record.output["columns"]) != sorted(schema.columns) or not isinstance(record.output["kind"], str):
                raise ValueError("output")
            output = {**record.output, "types": dict(record.output["types"])}
        except (PrivBayesError, ValueError, KeyError, TypeError, IndexError):
            raise ModelFileError(f"{name} is not a valid model file (a field is missing or wrong)") from None
        return Model(
            method=record.method,
            spec=record.spec,
            codec=codec,
            generator=generator,
            n_rows=record.n_rows,
            guarantee=record.guarantee,
            receipts=record.receipts,
            output=output,
        )
