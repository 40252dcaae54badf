"""Tables that no setting was chosen on: made up, each of one kind. Is `best` ever worse than independent columns at the
same budget?

    python benchmarks/made_up.py                     # all tables, both relations, every epsilon
    python benchmarks/made_up.py --tables chain --epsilons 0.4 --repeats 5 --dry
    python benchmarks/made_up.py --print             # what is kept

Mean total variation distance over all pairs of columns (a fixed sample of pairs on wide tables). `add-remove` with
delta 1e-9 and `replace` with pure epsilon. The ratio to `independent` is given with its standard error; below 1 is
better. Tables: independent columns of 2 to 20 values; a chain, each column following the one before; a mixture (naive
Bayes) of eight classes; 200 columns of two values; 200 of 2 to 20; skewed columns of 150 to 400 values, two of which
belong together; the clinic of `privbayes demo`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from common import RESULTS, machine, mean_and_error

import privbayes as pb
from privbayes.counts.memory import MemoryBackend
from privbayes.counts.request import MarginalRequests
from privbayes.demo.clinic import clinic_schema, clinic_table
from privbayes.encoding.codec import Codec
from privbayes.table.source import read_table

EPSILONS = (0.1, 0.4, 1.6)
MOST_PAIRS = 2_000
SETTINGS = (("add-remove", 1e-9), ("replace", 0.0))
METHODS = ("best", "independent", "privbayes")
KEPT = RESULTS / "made_up.json"

Row = dict[str, Any]
Codes = list[np.ndarray]


def listed(codes: Codes, sizes: list[int]) -> tuple[pa.Table, pb.Schema]:
    """Codes as a table of listed values."""
    names = [f"c{i}" for i in range(len(codes))]
    columns = {
        name: {"type": "categorical", "values": list(range(size))} for name, size in zip(names, sizes, strict=True)
    }
    return pa.table(dict(zip(names, codes, strict=True))), pb.Schema.from_dict({"columns": columns})


def drawn(rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    """A value for every row of chances."""
    return (rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)


def independent(rng: np.random.Generator) -> tuple[pa.Table, pb.Schema]:
    sizes = rng.integers(2, 21, 15).tolist()
    return listed([drawn(rng, np.tile(rng.dirichlet(np.ones(size)), (20_000, 1))) for size in sizes], sizes)


def chain(rng: np.random.Generator) -> tuple[pa.Table, pb.Schema]:
    sizes = rng.integers(2, 13, 20).tolist()
    codes = [drawn(rng, np.tile(rng.dirichlet(np.ones(sizes[0])), (20_000, 1)))]
    for size in sizes[1:]:
        follows = rng.dirichlet(np.full(size, 0.5), int(codes[-1].max()) + 1)
        codes.append(drawn(rng, follows[codes[-1]]))
    return listed(codes, sizes)


def mixture(rng: np.random.Generator, rows: int = 20_000, sizes: list[int] | None = None) -> tuple[pa.Table, pb.Schema]:
    sizes = sizes or rng.integers(2, 11, 12).tolist()
    group = drawn(rng, np.tile(rng.dirichlet(np.ones(8)), (rows, 1)))
    return listed([drawn(rng, rng.dirichlet(np.full(size, 0.7), 8)[group]) for size in sizes], sizes)


def wide_binary(rng: np.random.Generator) -> tuple[pa.Table, pb.Schema]:
    return mixture(rng, 20_000, [2] * 200)


def wide(rng: np.random.Generator) -> tuple[pa.Table, pb.Schema]:
    return mixture(rng, 20_000, rng.integers(2, 21, 200).tolist())


def skewed(rng: np.random.Generator) -> tuple[pa.Table, pb.Schema]:
    sizes = rng.integers(150, 401, 6).tolist()
    codes = []
    for size in sizes:
        shares = 1 / np.arange(1, size + 1) ** 1.5
        codes.append(rng.choice(size, 30_000, p=shares / shares.sum()))
    follows = rng.random(30_000) < 0.6
    codes[1] = np.where(follows, codes[0] * 7 % sizes[1], codes[1])
    return listed(codes, sizes)


def clinic(rng: np.random.Generator) -> tuple[pa.Table, pb.Schema]:
    return clinic_table(10_000, seed=int(rng.integers(2**31))), pb.Schema.from_dict(clinic_schema())


TABLES: dict[str, Callable[[np.random.Generator], tuple[pa.Table, pb.Schema]]] = {
    "independent": independent,
    "chain": chain,
    "mixture": mixture,
    "skewed": skewed,
    "clinic": clinic,
    "wide binary": wide_binary,
    "wide": wide,
}


class Compared:
    """A made-up table, counted once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.table, self.schema = TABLES[name](np.random.default_rng(20_261_119))
        self._codec = Codec(self.schema, "vanilla")
        self._backend = self._counted(self.table)
        domain = self._codec.domain
        pairs = list(itertools.combinations([domain.axis(a) for a in range(len(domain))], 2))
        if len(pairs) > MOST_PAIRS:
            chosen = np.random.default_rng(7).choice(len(pairs), MOST_PAIRS, replace=False)
            pairs = [pairs[k] for k in sorted(chosen)]
        self._requests = MarginalRequests.of(pairs)

    def _counted(self, table: pa.Table) -> MemoryBackend:
        return MemoryBackend(self._codec.domain, self._codec.encode(read_table(table)).columns)

    def distance(self, synthetic: pa.Table) -> float:
        """Mean total variation distance over the pairs."""
        other, total = self._counted(synthetic), 0.0
        for part in self._requests.passes(self._codec.domain, 8_000_000):
            batch = MarginalRequests(self._requests.axes[part])
            mine, theirs = (backend.count(batch).cells / backend.n_rows for backend in (self._backend, other))
            total += 0.5 * float(np.abs(mine - theirs).sum())
        return total / len(self._requests)


def measure(compared: Compared, method: str, neighbours: str, delta: float, epsilon: float, repeats: int) -> Row:
    distances, seconds = [], []
    for repeat in range(repeats):
        start = time.perf_counter()
        model = pb.fit(
            compared.table,
            compared.schema,
            epsilon=epsilon,
            delta=delta or None,
            method=method,
            neighbours=neighbours,
        )
        synthetic = model.sample(max(1, model.n_rows), seed=repeat, as_="arrow")
        seconds.append(time.perf_counter() - start)
        distances.append(compared.distance(synthetic))
    return {
        "table": compared.name,
        "neighbours": neighbours,
        "delta": delta,
        "method": method,
        "epsilon": epsilon,
        "repeats": repeats,
        "tvd2": mean_and_error(distances),
        "seconds": float(np.median(seconds)),
    }


def ratio(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Of two means, with its standard error (first order)."""
    value = one[0] / other[0]
    return value, value * float(np.hypot(one[1] / one[0], other[1] / other[0]))


def keep(rows: list[Row]) -> list[Row]:
    key = ("table", "neighbours", "delta", "method", "epsilon")
    before = json.loads(KEPT.read_text())["results"] if KEPT.exists() else []
    fresh = {tuple(row[k] for k in key) for row in rows}
    merged = [row for row in before if tuple(row[k] for k in key) not in fresh] + rows
    RESULTS.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps({"machine": machine(), "results": merged}, indent=1) + "\n")
    return merged


def shown(rows: list[Row]) -> str:
    """In Markdown: the mean of each method, and the ratio of `best` to `independent`."""
    found = {(r["table"], r["neighbours"], r["epsilon"], r["method"]): r for r in rows}
    lines = [
        "| table, relation | eps | " + " | ".join(METHODS) + " | best / independent | best, s |",
        "|---" * (len(METHODS) + 4) + "|",
    ]
    for table, (neighbours, delta) in itertools.product(TABLES, SETTINGS):
        for epsilon in sorted({r["epsilon"] for r in rows}):
            cells = [found.get((table, neighbours, epsilon, method)) for method in METHODS]
            if cells[0] is None or cells[1] is None:
                continue
            value, error = ratio(cells[0]["tvd2"], cells[1]["tvd2"])
            means = ["-" if c is None else f"{c['tvd2'][0]:.4f} ({c['tvd2'][1]:.4f})" for c in cells]
            label = f"{table}, {neighbours}, {'zCDP' if delta else 'pure'}"
            seconds = f"{cells[0]['seconds']:.1f}"
            lines.append(f"| {label} | {epsilon:g} | {' | '.join(means)} | {value:.2f} ({error:.2f}) | {seconds} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--relations", nargs="+", default=[n for n, _ in SETTINGS], choices=[n for n, _ in SETTINGS])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--print", action="store_true", help="measure nothing, show what is kept")
    parser.add_argument("--dry", action="store_true", help="measure, but keep nothing")
    settings = parser.parse_args()
    rows: list[Row] = []
    if settings.print:
        rows = json.loads(KEPT.read_text())["results"]
    else:
        for name in settings.tables:
            compared = Compared(name)
            for (neighbours, delta), epsilon in itertools.product(SETTINGS, settings.epsilons):
                if neighbours not in settings.relations:
                    continue
                for method in settings.methods:
                    row = measure(compared, method, neighbours, delta, epsilon, settings.repeats)
                    rows.append(row)
                    print(
                        f"{name:12} {neighbours:10} eps {epsilon:<4} {method:12} {row['tvd2'][0]:.4f} "
                        f"(se {row['tvd2'][1]:.4f})  {row['seconds']:.1f} s",
                        flush=True,
                    )
            if not settings.dry:
                keep(rows)
        rows = rows if settings.dry else json.loads(KEPT.read_text())["results"]
    print(shown(rows))


if __name__ == "__main__":
    main()
