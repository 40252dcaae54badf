"""What the timing benchmarks share: cases in processes of their own, the second run of each, its peak memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common import HERE, data_paths, save

__all__ = ["main", "repeated", "timed"]

Case = Callable[[], dict[str, float]]

# The program itself: how long it takes until it does anything.
COMMANDS = {
    "import": ["-c", "import privbayes"],
    "help": ["-c", "from privbayes.cli.main import run; run()", "--help"],
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Wall-clock seconds, and the result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def repeated(name: str, schema: Any, rows: int, folder: str) -> Path:
    """A table of the papers repeated to so many rows, as Parquet; made in another process, to keep its memory apart."""
    path = Path(folder) / f"{name}-{rows}.parquet"
    code = (
        "import sys, pyarrow as pa, pyarrow.csv as csv, pyarrow.parquet as pq\n"
        "rows = int(sys.argv[3])\n"
        "types = csv.ConvertOptions(column_types={n: pa.string() for n in sys.argv[4:]})\n"
        "t = csv.read_csv(sys.argv[1], convert_options=types)\n"
        "pq.write_table(pa.concat_tables([t] * (rows // t.num_rows + 1)).slice(0, rows), sys.argv[2])\n"
    )
    command = [sys.executable, "-c", code, str(data_paths(name)[0]), str(path), str(rows), *schema.columns]
    subprocess.run(command, check=True)
    return path


def main(script: str, cases: Mapping[str, Case], targets: Mapping[str, str], kept: str) -> None:
    """``script [case ...]``: each case twice in a process of its own, the first of which warms the caches; the second
    is reported. Kept when all were run.
    """
    if sys.argv[1:2] == ["--one"]:
        result = cases[sys.argv[2]]()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({**result, "peak_mb": peak}))
        return
    wanted = sys.argv[1:] or list(targets)
    results = {}
    for name in wanted:
        if name in COMMANDS:
            results[name] = _of_command([sys.executable, *COMMANDS[name]])
        else:
            _in_own_process(script, name)
            results[name] = _in_own_process(script, name)
        shown = ", ".join(
            f"{key} {value:.3f}" if key != "peak_mb" else f"peak {value:.0f} MB" for key, value in results[name].items()
        )
        print(f"{name:15} {shown}   (target {targets[name]})", flush=True)
    if set(wanted) == set(targets):
        save(kept, results)


def _in_own_process(script: str, name: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, script, "--one", name], capture_output=True, text=True, check=True, cwd=HERE)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _of_command(command: list[str]) -> dict[str, Any]:
    times = [timed(lambda: subprocess.run(command, capture_output=True, check=True))[0] for _ in range(6)]
    return {"seconds": min(times), "with_first": times[0]}
