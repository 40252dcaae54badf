"""What the experiments share: made-up tables, where figures go, and how they look."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

import privbayes as pb

RESULTS = Path(__file__).resolve().parent / "results"
LEVEL = 0.05  # of every test

# The thesis' equation (4.6): neighbouring variables share most.
COPULA = np.array(
    [
        [1.0, 0.6, 0.5, 0.4, 0.3],
        [0.6, 1.0, 0.6, 0.5, 0.4],
        [0.5, 0.6, 1.0, 0.6, 0.5],
        [0.4, 0.5, 0.6, 1.0, 0.6],
        [0.3, 0.4, 0.5, 0.6, 1.0],
    ]
)
BITS = [f"Z{i}" for i in range(1, 6)]

# One hue a series, in a fixed order; grey for what is beside the point.
COLOURS = ("#2a78d6", "#eb6834", "#1baf7a", "#8a5cd1", "#c8a200")
GREY = "#8b8a85"
INK = "#0b0b0b"


def copula_bits(n: int, rng: np.random.Generator, correlation: NDArray[np.float64] = COPULA) -> NDArray[np.int64]:
    """Five dependent coins: a normal vector, each entry cut at its median."""
    normal = rng.multivariate_normal(np.zeros(len(correlation)), correlation, n)
    return (normal >= 0).astype(np.int64)


def bits_schema() -> pb.Schema:
    """Five columns of zeros and ones."""
    return pb.Schema.from_dict({"columns": {name: {"type": "categorical", "values": [0, 1]} for name in BITS}})


def bits_table(bits: NDArray[np.int64]) -> pa.Table:
    """As a frame that `privbayes.fit` takes."""
    return pa.table({name: bits[:, i] for i, name in enumerate(BITS)})


def of_table(table: pa.Table, names: Sequence[str]) -> NDArray[Any]:
    """Columns of a frame side by side."""
    return np.column_stack([table[name].to_numpy() for name in names])


def pyplot() -> Any:
    """Matplotlib without a window, in this project's look."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "figure.facecolor": "white", "font.size": 9, "axes.titlesize": 10, "axes.titleweight": "bold",
            "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#52514e",
            "axes.grid": True, "grid.color": "#e4e3df", "grid.linewidth": 0.7, "axes.axisbelow": True,
            "lines.linewidth": 1.8, "legend.frameon": False, "savefig.dpi": 110,
        }
    )  # fmt: skip
    return plt


def save(name: str, figure: Any, results: Any = None) -> Path:
    """A picture, and beside it what it was drawn from."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.png"
    figure.savefig(path)
    smaller = Image.open(path).convert("RGB").quantize(128)  # drawings have few colours
    smaller.save(path, optimize=True)
    if results is not None:
        (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
    print(path.name)
    return path
