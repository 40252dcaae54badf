"""The `privbayes` program: its verbs, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, NoReturn

import typer
import typer.core

from privbayes.cli import demo, fit, inspect, marginal, plan, sample, schema, synthesize
from privbayes.cli.exits import INTERRUPTED, explain, warnings_as_notes

__all__ = ["app", "main", "run"]

VERBS = ("demo", "schema", "plan", "fit", "sample", "synthesize", "inspect", "marginal")


class _InOrder(typer.core.TyperGroup):
    """Lists the verbs in the order a newcomer meets them."""

    def list_commands(self, ctx: object) -> list[str]:
        return list(VERBS)


app = typer.Typer(
    cls=_InOrder,
    name="privbayes",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"privbayes {version('privbayes')}")
        except PackageNotFoundError:
            print("privbayes (run from its source folder, not installed)")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and stop.")
    ] = False,
) -> None:
    """Turn a private table into a synthetic one, with a differential-privacy guarantee that can be checked.

    Start with: privbayes demo
    """


app.command("demo")(demo.demo)
app.add_typer(schema.app, name="schema")
app.command("plan")(plan.plan)
app.command("fit")(fit.fit)
app.command("sample")(sample.sample)
app.command("synthesize")(synthesize.synthesize)
app.command("inspect")(inspect.inspect)
app.command("marginal")(marginal.marginal)


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line and return its exit code; never raises on a user's mistake."""
    with warnings_as_notes():
        try:
            code = typer.main.get_command(app).main(arguments, prog_name="privbayes", standalone_mode=False)
            sys.stdout.flush()
            if code == INTERRUPTED:
                raise KeyboardInterrupt
        except (Exception, KeyboardInterrupt) as error:
            return explain(error)
    return code if isinstance(code, int) else 0


def run() -> NoReturn:
    """The entry point of the installed program."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller: no other file may be opened in its place
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    # A polite kill or a closed terminal unwinds like an interrupt, so that no temporary file is left behind.
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, lambda received, _: sys.exit(128 + received))
    code = main()
    # Leave without tearing libraries down: their idle threads can abort a process that has done all it should.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
