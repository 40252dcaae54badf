"""Wrong use and bad input: one line that says what to do, the right exit code, and nothing written."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from privbayes import api
from privbayes.cli.console import printable, progress, show_table
from privbayes.errors import BudgetError

from .conftest import Clinic, Run, shell

SCHEMA = "columns: {name: {type: id}, age: {type: integer, min: 0, max: 99}, sex: {type: categorical, values: [f, m]}}"


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text(SCHEMA, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "T", "-s", "S", "-e", "0", "-o", "O"], ["--epsilon", "above 0"]),
        (["fit", "T", "-s", "S", "-e", "-1", "-o", "O"], ["--epsilon"]),
        (["fit", "T", "-s", "S", "-e", "nan", "-o", "O"], ["--epsilon"]),
        (["fit", "T", "-s", "S", "-e", "inf", "-o", "O"], ["--epsilon"]),
        (["fit", "T", "-s", "S", "-e", "much", "-o", "O"], ["--epsilon", "'much' is not a number"]),
        (["fit", "T", "-s", "S", "-e", "1", "-o", "T"], ["--output", "is read by this very command"]),
        (["fit", "T", "-s", "S", "-e", "1", "-o", "S"], ["--output", "is read by this very command"]),
        (["synthesize", "T", "-s", "S", "-e", "1", "-o", "T"], ["--output", "is read by this very command"]),
        (["synthesize", "T", "-s", "S", "-e", "1", "-o", "O.csv", "--model", "T"], ["--model", "is read by"]),
        (["schema", "draft", "T", "-o", "T", "--force"], ["--output", "is read by this very command"]),
        (["fit", "T", "-s", "S", "-e", "1", "-o", ""], ["--output", "name a file"]),
        (["fit", "T", "-s", "S", "-e", "1", "--delta", "0", "-o", "O"], ["--delta", "between 0 and 1"]),
        (["fit", "T", "-s", "S", "-e", "1", "--delta", "1", "-o", "O"], ["--delta"]),
        (["fit", "T", "-s", "S", "-e", "1", "--method", "magic", "-o", "O"], ["magic", "privbayes"]),
        (["fit", "T", "-s", "S", "-e", "1", "--neighbours", "all", "-o", "O"], ["--neighbours", "add-remove"]),
        (["fit", "T", "-s", "S", "-e", "1", "--beta", "1", "-o", "O"], ["--beta"]),
        (["fit", "T", "-s", "S", "-e", "1", "--theta", "0", "-o", "O"], ["--theta"]),
        (["fit", "T", "-s", "S", "-e", "1", "--network", "T", "-o", "O"], ["--network", "JSON"]),
        (["fit", "T", "-s", "S", "-e", "1", "--weight", "sex", "-o", "O"], ["--weight", "COLUMN=NUMBER"]),
        (["fit", "T", "-s", "S", "-e", "1", "--weight", "sex=much", "-o", "O"], ["--weight", "COLUMN=NUMBER"]),
        (["plan", "-s", "S", "--rows", "9", "-e", "1", "--weight", "a=1", "--weight", "a=2"], ["--weight", "twice"]),
        (["fit", "T", "-s", "S", "-e", "1", "-o", "-"], ["stdout"]),
        (["fit", "T", "-s", "S", "-e", "1", "-o", "nowhere/m.pbm"], ["nowhere", "does not exist"]),
        (["fit", "T", "-s", "S", "-o", "O"], ["--epsilon"]),
        (["plan", "-s", "S", "--rows", "0", "-e", "1"], ["--rows", "0 is less than 1"]),
        (["plan", "-s", "S", "--rows", "1.5", "-e", "1"], ["--rows", "'1.5' is not a whole number"]),
        (["plan", "-s", "S", "--rows", "10", "-e", "1", "--method", "magic"], ["magic"]),
        (["plan", "-s", "S", "--rows", "10", "-e", "1", "--score", "Q"], ["--score': 'Q' is not one of"]),
        (["sample", "M", "-o", "O.xlsx"], [".xlsx", ".parquet"]),
        (["sample", "M", "-o", "-", "--json"], ["--json"]),
        (["sample", "M", "-n", "0", "-o", "O.csv"], ["--rows"]),
        (["sample", "M", "-o", "O.csv", "--where", "sex"], ["--where", "COLUMN=VALUE"]),
        (["sample", "M", "-o", "O.csv", "--where", "sex=Male", "--where", "sex=Female"], ["sex", "twice"]),
        (["synthesize", "T", "-s", "S", "-e", "1", "-o", "O.csv", "--model", "nowhere/m"], ["--model", "nowhere"]),
        (["demo", "-o", "T"], ["is a file"]),
        (["frobnicate"], ["frobnicate"]),
        (["fit", "T", "--wrong"], ["--wrong"]),
    ],
)
def test_wrong_use_is_exit_code_2(
    run: Run, clinic: Clinic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    known = {"T": str(clinic.table), "S": str(clinic.schema), "M": str(clinic.model)}
    run(*(known.get(argument, argument) for argument in arguments)).refused(2, *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["t.csv"]),
        (b"", ["t.csv"]),
        (b"name,age,sex\n", ["t.csv"]),
        (b"name,age,age\nSECRET,1,2\n", ["columns 2 and 3", "distinct"]),
        (b"SECRET,1,f\nSECRET,2,m\n", ["first line", "column names"]),
        (b"SECRET,1,SECRET\nSECRET,2,m\n", ["columns 1 and 3", "distinct"]),
        (b"name,age\nSECRET,1\n", ["sex"]),
        (b"name,age,sex,extra\nSECRET,1,f,2\n", ["extra"]),
        (b"name,age,sex\nSECRET,1,f\nSECRET,1\n", ["t.csv"]),
        (b"name,age,sex\nSECRET,SECRET,f\n", ["age"]),
        (b"name,age,sex\nSECRET,3.5,f\n", ["age"]),
        (b"name,age,sex\nSECRET,1,SECRET\n", ["sex", "other"]),
        (b"name,age,sex\nSECRET,,f\n", ["age", "nullable"]),
        (b"name,age,sex\nSECRET,1,\xff\n", ["UTF-8"]),
    ],
)
def test_a_bad_table_is_named_without_its_cells(
    run: Run, tmp_path: Path, schema: Path, content: bytes | None, words: list[str]
) -> None:
    table = tmp_path / "t.csv"
    if content is not None:
        table.write_bytes(content)
    before = sorted(tmp_path.iterdir())
    outcome = run("fit", table, "-s", schema, "-e", 1, "-o", tmp_path / "m.pbm")
    outcome.refused(1, *words)
    assert "SECRET" not in outcome.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("columns: {a: {type: integer, min: 5, max: 5}}", ["'a'", "min"]),
        ("columns: {a: {type: colour}}", ["'a'", "colour"]),
        ("columns: {a: {type: categorical, values: [x, y], taxonomy: [x, [y, z]]}}", ["'a'", "taxonomy"]),
        ("columns: {a: {type: categorical, values: [x, y, z], taxonomy: [x, y]}}", ["'a'", "taxonomy"]),
        ("columns: [", ["s.yaml"]),
    ],
)
def test_a_bad_schema_is_named_with_its_rule(run: Run, tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    run("plan", "-s", tmp_path / "s.yaml", "--rows", 100, "-e", 1).refused(1, *words)


@pytest.mark.parametrize("verb", ["fit", "plan"])
def test_more_cells_than_memory_are_refused_beforehand_with_their_number(
    run: Run, clinic: Clinic, tmp_path: Path, verb: str
) -> None:
    names = [f"c{i}" for i in range(6)]
    columns = {name: {"type": "integer", "min": 0, "max": 99, "bins": 100} for name in names}
    (tmp_path / "s.yaml").write_text(api.Schema.from_dict({"columns": columns}).to_yaml(), encoding="utf-8")
    (tmp_path / "net.json").write_text(json.dumps({name: names[:i] for i, name in enumerate(names)}), encoding="utf-8")
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + "1,2,3,4,5,6\n" * 9, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    source = [tmp_path / "t.csv", "-o", tmp_path / "m.pbm"] if verb == "fit" else ["--rows", 9]
    given = ["-s", tmp_path / "s.yaml", "-e", 1, "--method", "privbayes", "--network", tmp_path / "net.json"]
    run(verb, *source, *given).refused(1, "1,010,101,010,100 cells", "memory")
    assert sorted(tmp_path.iterdir()) == before


def test_more_rows_than_any_disk_holds(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    run("sample", clinic.model, "-n", 10**20, "-o", tmp_path / "o.csv").refused(1, "rows", "disk")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_schema_file(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    run("fit", clinic.table, "-s", tmp_path / "no.yaml", "-e", 1, "-o", tmp_path / "m").refused(1, "no.yaml")


def test_a_foreign_and_a_cut_model_file(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    run("inspect", clinic.table).refused(1, "table.csv")
    cut = tmp_path / "cut.pbm"
    cut.write_bytes(clinic.model.read_bytes()[:-40])
    run("sample", cut, "-o", tmp_path / "s.csv").refused(1, "cut.pbm")
    run("sample", tmp_path / "no.pbm", "-o", tmp_path / "s.csv").refused(1, "no.pbm")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.pbm"]


def test_unknown_columns_and_values_in_questions(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    run("marginal", clinic.model, "sex,shoe_size").refused(1, "shoe_size")
    run("marginal", clinic.model, "patient_id").refused(1, "patient_id")
    fit = ("fit", clinic.table, "-s", clinic.schema, "-e", 1, "-o", tmp_path / "m.pbm")
    run(*fit, "--target", "shoe_size").refused(1, "target", "shoe_size")
    run(*fit, "--weight", "shoe_size=2").refused(1, "weights", "shoe_size")
    run(*fit, "--weight", "sex=0").refused(1, "sex", "above 0")
    run(*fit, "--workload", "sex,shoe_size").refused(1, "workload", "shoe_size")
    run(*fit, "--workload", "everything").refused(1, "workload", "everything")
    run("sample", clinic.model, "-o", tmp_path / "s.csv", "--where", "shoe_size=44").refused(1, "shoe_size")
    run("sample", clinic.model, "-o", tmp_path / "s.csv", "--where", "sex=Teapot").refused(1, "sex")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["schema"]])
def test_no_arguments_shows_help_as_wrong_use(run: Run, arguments: list[str]) -> None:
    shown = run(*arguments)
    assert (shown.code, shown.err) == (2, "")
    assert "Usage: privbayes" in shown.out


def test_an_error_not_raised_on_purpose_keeps_its_text_to_itself(
    run: Run, clinic: Clinic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("cell SECRET in row 3")

    monkeypatch.setattr(api, "fit", broken)
    outcome = run("fit", clinic.table, "-s", clinic.schema, "-e", 1, "-o", tmp_path / "m.pbm")
    outcome.refused(1, "ValueError", "at cli/fit.py:", "report")
    assert "SECRET" not in outcome.err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, ["stopped"]),
        (MemoryError(), 1, ["out of memory"]),
        (OSError(28, "No space left on device", "m.pbm"), 1, ["m.pbm", "No space left"]),
        (BudgetError("refused: too\nmuch \x1b[31m"), 1, ["refused: too much", "\\x1b"]),
    ],
)
def test_every_failure_is_one_clean_line(
    run: Run,
    clinic: Clinic,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    words: list[str],
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(api, "fit", failing)
    run("fit", clinic.table, "-s", clinic.schema, "-e", 1, "-o", tmp_path / "m.pbm").refused(code, *words)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_plainly(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    (tmp_path / "full.csv").symlink_to("/dev/full")
    run("sample", clinic.model, "-o", tmp_path / "full.csv").refused(1, "full.csv", "No space left")


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupt_while_writing_leaves_no_file(
    clinic: Clinic, tmp_path: Path, how: signal.Signals, code: int
) -> None:
    handler = "default_int_handler" if how == signal.SIGINT else "SIG_DFL"
    heard = f"import signal; signal.signal({int(how)}, signal.{handler})"  # even if the tests' own caller ignores it
    command = f"{heard}; from privbayes.cli.main import run; run()"
    arguments = ["sample", str(clinic.model), "-n", "1000000000", "-o", str(tmp_path / "s.csv")]
    env = {**os.environ, "PYTHONPATH": str(Path(api.__file__).parents[1])}
    with subprocess.Popen([sys.executable, "-c", command, *arguments], stderr=subprocess.PIPE, env=env) as process:
        try:
            deadline = time.monotonic() + 60
            while not list(tmp_path.iterdir()):  # the temporary file: writing has begun
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(how)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == code
    assert b"Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_drama(clinic: Clinic) -> None:
    command = "from privbayes.cli.main import run; run()"
    arguments = ["sample", str(clinic.model), "-n", "3000000", "-o", "-"]
    env = {**os.environ, "PYTHONPATH": str(Path(api.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(timeout=60) == 1
    assert said == b""


@pytest.mark.parametrize(("closed", "code"), [("<&-", 0), (">&-", 0), ("2>&-", 0)])
def test_closed_streams_are_no_drama(clinic: Clinic, closed: str, code: int) -> None:
    program = f"{shlex.quote(sys.executable)} -c 'from privbayes.cli.main import run; run()'"
    command = f"{program} inspect {shlex.quote(str(clinic.model))} {closed}"
    env = {**os.environ, "PYTHONPATH": str(Path(api.__file__).parents[1])}
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, env=env)
    assert (done.returncode, done.stderr) == (code, b"")


def test_exit_codes_of_a_real_process(clinic: Clinic, tmp_path: Path) -> None:
    assert shell("fit", tmp_path / "no.csv", "-s", clinic.schema, "-e", 1, "-o", tmp_path / "m").returncode == 1
    assert shell("fit", clinic.table, "-s", clinic.schema, "-e", 0, "-o", tmp_path / "m").returncode == 2


def test_progress_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with progress() as report:
        assert report is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress() as report:
        assert report is not None
        report("a [b] stage", 1, 2)
        report("another", 0, 0)
    with progress(hidden=True) as report:
        assert report is None


def test_names_cannot_play_with_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert printable("a\x1b[2Jb\nc é") == "a\\x1b[2Jb\\nc é"
    show_table(("name", "n"), [("[red]x[/red]\r", 5)], right=(1,))
    assert capsys.readouterr().out == "  name            n\n  [red]x[/red]\\r  5\n"


def test_an_unknown_engine_is_wrong_use(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    target = tmp_path / "m.pbm"
    done = run("fit", clinic.table, "-s", clinic.schema, "-e", "1", "--engine", "abacus", "-o", target)
    done.refused(2, "there is no engine 'abacus'; there are: memory")
    assert not target.exists()
