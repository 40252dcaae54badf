"""Times and memory: each case in a process of its own, after one warm-up process that fills the compile cache.

    python benchmarks/speed.py [case ...]

Times are wall clock of the part named; peak memory is that of the whole process, imports included.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import data_paths
from timing import main, repeated, timed

TARGETS = {
    "adult": "fit + 45,222 rows <= 2 s, <= 500 MB", "acs_f4": "fit <= 2 s (paper: 40 min)",
    "nltcs_f6": "fit <= 5 s (paper: hours)",
    "retail": "fit <= 60 s", "adult_jtree": "fit <= 5 s", "adult_million": "fit <= 20 s, <= 1.5 GB",
    "privabn_retail": "fit <= 10 s", "privabn_wide": "fit <= 120 s, <= 2 GB",
    "sample_million": "<= 2 s", "import": "<= 0.4 s", "help": "<= 0.5 s",
}  # fmt: skip


def load(name: str) -> tuple[Any, Any]:
    import privbayes as pb

    table, schema = data_paths(name)
    return table, pb.Schema.load(schema)


def adult() -> dict[str, float]:
    import privbayes as pb

    table, schema = load("adult")
    fit, model = timed(lambda: pb.fit(table, schema, epsilon=1.6, method="privbayes"))
    rows, _ = timed(lambda: model.sample(45_222, seed=1))
    return {"fit": fit, "rows": rows, "total": fit + rows}


def acs_f4() -> dict[str, float]:
    import privbayes as pb

    table, schema = load("acs")
    return {"fit": timed(lambda: pb.fit(table, schema, epsilon=1.6, method="privbayes", score="F", max_parents=4))[0]}


def nltcs_f6() -> dict[str, float]:
    import privbayes as pb

    table, schema = load("nltcs")
    return {"fit": timed(lambda: pb.fit(table, schema, epsilon=1.6, method="privbayes", score="F", max_parents=6))[0]}


def retail() -> dict[str, float]:
    import privbayes as pb

    table, schema = load("retail")
    return {
        f"fit_{epsilon}": timed(lambda e=epsilon: pb.fit(table, schema, epsilon=e, method="privbayes"))[0]
        for epsilon in (0.1, 1.0, 1.6)
    }


def adult_jtree() -> dict[str, float]:
    import privbayes as pb

    table, schema = load("adult")
    fit, model = timed(lambda: pb.fit(table, schema, epsilon=1.6, method="jtree"))
    rows, _ = timed(lambda: model.sample(45_222, seed=1))
    return {"fit": fit, "rows": rows, "total": fit + rows}


def adult_million() -> dict[str, float]:
    import privbayes as pb

    schema = load("adult")[1]
    with tempfile.TemporaryDirectory() as folder:
        path = repeated("adult", schema, 1_000_000, folder)
        return {"fit": timed(lambda: pb.fit(path, schema, epsilon=1.6, method="privbayes"))[0]}


def sample_million() -> dict[str, float]:
    import privbayes as pb

    table, schema = load("adult")
    model = pb.fit(table, schema, epsilon=1.6, method="privbayes")
    model.sample(1_000, seed=0)
    return {"rows": timed(lambda: model.sample(1_000_000, seed=1))[0]}


def privabn_retail() -> dict[str, float]:
    import privbayes as pb

    table, schema = load("retail")
    return {
        f"fit_{epsilon}": timed(lambda e=epsilon: pb.fit(table, schema, epsilon=e, method="privabn"))[0]
        for epsilon in (0.1, 1.6)
    }


def privabn_wide() -> dict[str, float]:
    """A made-up table of 100,000 rows and 300 bits: each is its neighbour, flipped now and then, or a rare event."""
    import privbayes as pb

    schema = pb.Schema.from_dict({"columns": {f"b{i}": {"type": "boolean"} for i in range(300)}})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.parquet"
        code = (  # made in another process, so that its memory is not counted
            "import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq\n"
            "rng, n = np.random.default_rng(0), 100_000\n"
            "bits = [rng.random(n) < 0.5]\n"
            "for i in range(299):\n"
            "    flip = rng.random(n) < rng.uniform(0.05, 0.45)\n"
            "    bits.append(rng.random(n) < 0.02 if i % 5 == 4 else bits[rng.integers(max(0, i - 3), i + 1)] ^ flip)\n"
            "pq.write_table(pa.table({f'b{i}': b for i, b in enumerate(bits)}), sys.argv[1])\n"
        )
        subprocess.run([sys.executable, "-c", code, path], check=True)
        return {
            f"fit_{epsilon}": timed(lambda e=epsilon: pb.fit(path, schema, epsilon=e, method="privabn"))[0]
            for epsilon in (0.1, 1.0)
        }


CASES = {
    f.__name__: f
    for f in (adult, acs_f4, nltcs_f6, retail, adult_jtree, adult_million, privabn_retail, privabn_wide, sample_million)
}


if __name__ == "__main__":
    main(__file__, CASES, TARGETS, "speed")
