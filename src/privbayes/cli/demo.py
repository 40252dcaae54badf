"""The verb `demo`: a made-up clinic, fitted, sampled and compared, to see what privbayes does before trusting it."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import which
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privbayes.cli.console import heading, number, paragraph, progress, show_json, show_pairs, show_table
from privbayes.cli.inspect import show_spending
from privbayes.cli.options import Json, count_from, positive

if TYPE_CHECKING:
    from privbayes.report.fidelity import Fidelity

__all__ = ["demo"]

_BAR = 30


def demo(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the files go.")] = "demo",
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", parser=count_from(1), help="How many patients to make up.")
    ] = 50_000,
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", "-e", metavar="NUMBER", parser=positive, help="The privacy budget to spend."),
    ] = 1.0,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", parser=count_from(0), help="Makes up other patients. The fit is never seeded."
        ),
    ] = 0,
    json: Json = False,
) -> None:
    """Make up a clinic, fit it, draw a synthetic table and compare the two.

    Needs nothing and takes seconds. The files it writes are there to look at and to try the other verbs on.
    """
    folder = _folder(output)
    from privbayes import api
    from privbayes.demo.clinic import clinic_schema, clinic_table
    from privbayes.report.fidelity import compare

    files = {name: str(folder / name) for name in ("table.csv", "schema.yaml", "model.pbm", "synthetic.csv")}
    schema = api.Schema.from_dict(clinic_schema())
    schema.save(files["schema.yaml"])
    with progress() as report:
        api.write_table(clinic_table(rows, seed=seed), files["table.csv"])
        started = perf_counter()
        model = api.fit(files["table.csv"], schema, epsilon=epsilon, progress=report)
        model.save(files["model.pbm"])
        fitted = perf_counter()
        api.write_table(model.sample_batches(rows, seed=seed, progress=report), files["synthetic.csv"])
        sampled = perf_counter()
        fidelity = compare(files["table.csv"], files["synthetic.csv"], schema)
    seconds = {"fit": round(fitted - started, 3), "sample": round(sampled - fitted, 3)}
    description = model.describe()
    if json:
        show_json(
            {
                "files": files,
                "seconds": seconds,
                "model": description,
                "fidelity": {"columns": dict(fidelity.columns), "mean_of_pairs": fidelity.pair_mean},
            }
        )
        return
    _show(folder, files, rows, description, seconds, fidelity)


def _folder(output: str) -> Path:
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{output!r} is a file; name a folder", param_hint="--output")
    if not folder.parent.is_dir():
        raise typer.BadParameter(f"the folder {str(folder.parent)!r} does not exist", param_hint="--output")
    folder.mkdir(exist_ok=True)
    return folder


def _show(
    folder: Path,
    files: dict[str, str],
    rows: int,
    description: dict[str, Any],
    seconds: dict[str, float],
    fidelity: Fidelity,
) -> None:
    cells = sum(table["cells"] for table in description["tables"])
    noise = sum(table["cells"] * table["expected_absolute_noise"] for table in description["tables"]) / cells
    print(f"A clinic of {rows:,} made-up patients went in, {rows:,} synthetic rows came out.")
    show_pairs(
        [
            ("guarantee", description["guarantee"]["sentence"]),
            (
                "learned from",
                f"{len(description['tables'])} noisy tables of {cells:,} cells; nothing else of the patients",
            ),
            ("noise", f"each cell is off by {number(noise)} patients on average"),
            ("took", f"{seconds['fit']:.1f} s to fit, {seconds['sample']:.1f} s to draw and write the rows"),
        ]
    )
    show_spending(description)
    heading("How close each column came (total variation: 0 is alike, 1 nothing in common)")
    worst = max(distance for _, distance in fidelity.columns) or 1.0
    show_table(
        ("column", "distance", ""),
        [(name, f"{distance:.4f}", "#" * round(_BAR * distance / worst)) for name, distance in fidelity.columns],
        right=(1,),
    )
    if fidelity.pair_mean is not None:
        print(
            f"  On average {fidelity.column_mean:.4f} for a column and {fidelity.pair_mean:.4f} for a pair of columns."
        )
    reads = "This comparison reads the original table. Here it is made up; with real patients it would not be private."
    paragraph(f"({reads})", indent="  ")
    heading(f"Written to {folder}: {', '.join(Path(name).name for name in files.values())}. Next, for example:")
    program = _program()
    for command in (
        f"inspect {files['model.pbm']}",
        f"marginal {files['model.pbm']} smoker,severity",
        f"sample {files['model.pbm']} -n 100 --where sex=Female -o women.csv",
        "schema draft YOUR_TABLE.csv -o schema.yaml",
    ):
        print(f"  {program} {command}")


def _program() -> str:
    """How to call this program again: by its name if the shell finds it, else by the path it was started with."""
    started = Path(sys.argv[0])
    return str(started) if started.name == "privbayes" and which("privbayes") is None else "privbayes"
