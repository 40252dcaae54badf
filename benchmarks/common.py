"""What the benchmarks share: the papers' tables, error measures, the machine, and where results go."""

from __future__ import annotations

import itertools
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import privbayes as pb
from privbayes.counts.memory import MemoryBackend
from privbayes.counts.request import MarginalRequests
from privbayes.encoding.codec import Codec
from privbayes.table.source import read_table

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("PRIVBAYES_DATA", HERE.parent.parent / "shared" / "data"))
RESULTS = HERE / "results"
CELLS_A_PASS = 8_000_000


def data_paths(name: str) -> tuple[Path, Path]:
    """A table and its schema; the tables are not part of the project."""
    table, schema = DATA / f"{name}.csv.gz", DATA / f"{name}.schema.yaml"
    if not table.exists():
        raise SystemExit(f"{table} is not there: set PRIVBAYES_DATA to the folder of the papers' tables")
    return table, schema


class Original:
    """A private table held for comparison, counted once."""

    def __init__(self, name: str, most_triples: int | None = None) -> None:
        table, schema = data_paths(name)
        self.name = name
        self.path = table
        self.schema = pb.Schema.load(schema)
        self._codec = Codec(self.schema, "vanilla")
        private = read_table(table)
        self.table = pa.table({column: private.column(column) for column in private.columns})
        encoded = self._codec.encode(private)
        self.n_rows = encoded.n_rows
        self._backend = MemoryBackend(self._codec.domain, encoded.columns)
        d = len(self._codec.domain)
        axes = self._codec.domain.first_axis.tolist()
        self._sets: dict[int, list[tuple[int, ...]]] = {}
        for k in (1, 2, 3):
            sets = [tuple(axes[a] for a in picked) for picked in itertools.combinations(range(d), k)]
            if k == 3 and most_triples is not None and len(sets) > most_triples:
                chosen = np.random.default_rng(7).choice(len(sets), most_triples, replace=False)
                sets = [sets[i] for i in sorted(chosen)]
            self._sets[k] = sets

    def distance(self, synthetic: pa.Table, k: int) -> float:
        """Mean total variation distance over all k-way marginals."""
        encoded = self._codec.encode(read_table(synthetic))
        other = MemoryBackend(self._codec.domain, encoded.columns)
        requests = MarginalRequests.of(self._sets[k])
        total = 0.0
        for part in requests.passes(self._codec.domain, CELLS_A_PASS):
            batch = MarginalRequests(requests.axes[part])
            mine, theirs = self._backend.count(batch), other.count(batch)
            gap = np.abs(mine.cells / self.n_rows - theirs.cells / encoded.n_rows)
            total += 0.5 * float(gap.sum())
        return total / len(requests)

    def l2_error(self, synthetic: pa.Table, sets: Sequence[Sequence[str]]) -> float:
        """Mean L2 distance, in shares of the rows, over the marginals of these columns."""
        encoded = self._codec.encode(read_table(synthetic))
        other = MemoryBackend(self._codec.domain, encoded.columns)
        axes = [tuple(self._codec.column_axes(column)[0] for column in columns) for columns in sets]
        requests = MarginalRequests.of([tuple(self._codec.domain.axis(a) for a in picked) for picked in axes])
        mine, theirs = self._backend.count(requests), other.count(requests)
        gaps = (mine.table(t) / self.n_rows - theirs.table(t) / encoded.n_rows for t in range(len(requests)))
        return float(np.mean([np.sqrt((gap**2).sum()) for gap in gaps]))

    def distance_to_independence(self, k: int) -> float:
        """The same for the exact product of the exact columns, with no noise and no sampling."""
        sizes = self._codec.domain.axis_size
        ones = self._backend.count(MarginalRequests.of(self._sets[1]))
        column = {axes[0]: ones.table(i) / self.n_rows for i, axes in enumerate(self._sets[1])}
        requests = MarginalRequests.of(self._sets[k])
        total = 0.0
        for part in requests.passes(self._codec.domain, CELLS_A_PASS):
            batch = requests.axes[part]
            seen = self._backend.count(MarginalRequests(batch))
            for i, axes in enumerate(batch):
                product = np.ones(1)
                for axis in axes:
                    product = np.multiply.outer(product, column[int(axis)]).ravel()
                assert product.size == np.prod(sizes[axes])
                total += 0.5 * float(np.abs(seen.table(i) / self.n_rows - product).sum())
        return total / len(requests)

    def mutual_information(self, network: dict[str, list[list[Any]]]) -> float:
        """Sum of I(X, Pi) in bits over a network of this table's columns (figure 4)."""
        domain = self._codec.domain
        index = {name: a for a, name in enumerate(domain.names)}
        total = 0.0
        for child, parents in network.items():
            axes = (domain.axis(index[child]), *(domain.axis(index[name]) for name, _ in parents))
            joint = self._backend.count(MarginalRequests.of([axes])).cells.reshape(
                domain.cardinalities[index[child]], -1
            )
            p = joint / self.n_rows
            independent = p.sum(1, keepdims=True) * p.sum(0, keepdims=True)
            seen = p > 0
            total += float((p[seen] * np.log2(p[seen] / independent[seen])).sum())
        return total


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    array = np.asarray(values, float)
    return float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array))) if len(array) > 1 else 0.0


def machine() -> dict[str, Any]:
    """Enough to read a figure by."""
    cpu = platform.processor() or platform.machine()
    try:
        lines = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout.splitlines()
        cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("Model name")), cpu)
    except (OSError, subprocess.CalledProcessError):
        pass
    packages = {name: version(name) for name in ("numpy", "numba", "opendp", "pyarrow")}
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), **packages}


def save(name: str, results: Any) -> Path:
    """Keep raw results beside the machine that made them."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")
    return path
