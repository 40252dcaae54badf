"""Who may import whom. The privacy line is only as good as these rules, so they are read off the source itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "src" / "privbayes"
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))

# Of privbayes, what the modules of a package may import besides `errors`, `core` and their own package.
# A dotted name is a module, a bare one a package with all that is in it.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "core": set(),
    "schema": set(),
    "table": {"schema"},
    "encoding": {"schema", "table"},
    "privacy": set(),
    "counts": {"table", "encoding"},
    "structure": {"privacy", "counts.request", "counts.backend"},
    "measure": {"privacy", "counts.request", "counts.backend"},
    # ---- the privacy line: below it, nothing that could see a row or an exact count ----
    "model": {"privacy.released"},
    "sample": {"model", "encoding", "schema"},
    "modelfile": {"model", "schema", "privacy.released"},
    "report": {"model", "modelfile", "privacy.released"},
    # ---- what joins the stages ----
    "methods": {"structure", "measure", "model", "privacy", "counts.request", "counts.backend"},
    "demo": {"schema"},
    "cli": {"api"},
}
ANYTHING = {"__init__", "api"}
RIGHT_OF_THE_LINE = {"model", "sample", "modelfile", "report"}

# Single files that may do more, each with its reason.
EXCEPTIONS: dict[str, set[str]] = {
    # Drafting and checking a schema read a table; they are commands of their own.
    "schema/draft.py": {"table"},
    "schema/check.py": {"table", "encoding"},
    # A sampler is compiled on import, so the model reaches for it only when rows are asked for.
    "model/chain.py": {"privacy.released", "sample"},
    "model/joint.py": {"privacy.released", "sample"},
    # Compares with the original: not private, and never part of a release.
    "report/fidelity.py": {"table", "encoding", "counts", "schema"},
    # The demonstration's table is made up, so that it may be compared with what comes out.
    "cli/demo.py": {"demo", "report.fidelity"},
}

# Libraries that only some files may import, anywhere in them.
ONLY_IN: dict[str, tuple[str, ...]] = {
    "opendp": ("privacy/noise.py",),
    "numba": (
        "*_kernels.py",
        "counts/kernels.py",
        "counts/joins.py",
        "counts/memory.py",
        "structure/f_score.py",
        "sample/ancestral.py",
    ),
    "scipy": ("model/max_entropy.py",),
    "cvxpy": ("structure/cluster_relaxation.py",),
    "pandas": ("table/*.py",),
    "polars": ("table/*.py",),
    "narwhals": ("table/*.py",),
    "yaml": ("schema/*.py",),
    "typer": ("cli/*.py",),
    "rich": ("cli/*.py",),
}
NEVER_AT_MODULE_LEVEL = {"pandas", "polars", "cvxpy"}
# pydantic is not ours: typer reaches for it to read numbers, though not to start up.
HEAVY = (
    "numba",
    "llvmlite",
    "opendp",
    "pyarrow",
    "pandas",
    "polars",
    "pydantic",
    "networkx",
    "scipy",
    "matplotlib",
    "cvxpy",
)


@dataclass(frozen=True)
class Import:
    """One imported module, and whether importing the file is enough to import it too."""

    target: str
    at_module_level: bool
    line: int


def _is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _imports(tree: ast.Module) -> Iterator[Import]:
    """All imports of a file, those in functions and for type checkers included."""

    def walk(nodes: list[ast.stmt], at_module_level: bool) -> Iterator[Import]:
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, at_module_level, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"line {node.lineno}: imports are absolute here"
                assert node.module is not None
                for alias in node.names:
                    yield Import(_resolve(node.module, alias.name), at_module_level, node.lineno)
            else:
                deeper = at_module_level and not isinstance(node, ast.FunctionDef) and not _is_type_checking(node)
                yield from walk(_statements_in(node), deeper)

    yield from walk(tree.body, True)


def _statements_in(node: ast.stmt) -> list[ast.stmt]:
    """The statements directly inside a compound statement: of its body, its else, its handlers and cases."""
    found: list[ast.stmt] = []
    for _, value in ast.iter_fields(node):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.stmt):
                found.append(item)
            elif isinstance(item, (ast.ExceptHandler, ast.match_case)):
                found.extend(item.body)
    return found


def _resolve(module: str, name: str) -> str:
    """`from privbayes.core import domain` imports a module, `... core.domain import Domain` a name out of one."""
    if module.partition(".")[0] != "privbayes":
        return module
    path = ROOT.joinpath(*module.split(".")[1:], name)
    return f"{module}.{name}" if path.is_dir() or path.with_suffix(".py").exists() else module


def _tree(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"), filename=file)


def _within(target: str, allowed: set[str]) -> bool:
    return any(target == name or target.startswith(name + ".") for name in allowed)


@pytest.mark.parametrize("file", FILES)
def test_a_module_imports_only_what_its_package_may(file: str) -> None:
    package = file.partition("/")[0].removesuffix(".py")
    assert package in ALLOWED or package in ANYTHING, f"say in this test what {package} may import"
    if package in ANYTHING:
        return
    allowed = {"errors", "core", package} | ALLOWED[package] | EXCEPTIONS.get(file, set())
    for imported in _imports(_tree(file)):
        if imported.target.partition(".")[0] == "privbayes":
            target = imported.target.removeprefix("privbayes").removeprefix(".")
            assert _within(target, allowed), f"{file}:{imported.line} may not import {imported.target}"


@pytest.mark.parametrize("file", [file for file in FILES if file.partition("/")[0] in RIGHT_OF_THE_LINE])
def test_right_of_the_privacy_line_there_are_no_exact_counts(file: str) -> None:
    if file == "report/fidelity.py":
        return
    for imported in _imports(_tree(file)):
        assert imported.target != "privbayes.core.contingency", f"{file}:{imported.line} reaches for exact counts"


@pytest.mark.parametrize("file", FILES)
def test_libraries_stay_where_they_belong(file: str) -> None:
    for imported in _imports(_tree(file)):
        library = imported.target.partition(".")[0]
        places = ONLY_IN.get(library)
        where = f"{file}:{imported.line}"
        assert places is None or any(fnmatch(file, place) for place in places), f"{where} may not import {library}"
        assert not (library in NEVER_AT_MODULE_LEVEL and imported.at_module_level), f"{where} imports {library} on load"


@pytest.mark.parametrize("file", FILES)
def test_every_module_says_what_it_is_and_what_it_offers(file: str) -> None:
    tree = _tree(file)
    docstring = ast.get_docstring(tree)
    assert docstring, f"{file} opens with no docstring"
    assert docstring.splitlines()[0].strip(), f"{file}: the first line of the docstring is blank"
    if not file.endswith("__init__.py"):
        assigned = (t for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)) for t in _targets(node))
        names = {target.id for target in assigned if isinstance(target, ast.Name)}
        assert "__all__" in names, f"{file} defines no __all__"


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def test_the_rules_name_only_what_exists() -> None:
    for file in EXCEPTIONS:
        assert file in FILES, f"the exception for {file} is stale"
    for package in ALLOWED:
        assert (ROOT / package).is_dir() or (ROOT / f"{package}.py").exists(), f"the rule for {package} is stale"


def _loaded_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after running ``code``."""
    script = f"import sys\n{code}\nprint('LOADED', *sorted({{name.partition('.')[0] for name in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(run.stdout.rpartition("LOADED")[2].split())


@pytest.mark.parametrize(
    "code",
    [
        "import privbayes",
        "from privbayes.cli.main import main\nassert main(['--help']) == 0",
    ],
)
def test_starting_up_loads_nothing_heavy(code: str) -> None:
    loaded = _loaded_after(code)
    assert "privbayes" in loaded
    assert not loaded & set(HEAVY)


def test_help_of_a_verb_loads_no_engine() -> None:
    loaded = _loaded_after("from privbayes.cli.main import main\nassert main(['fit', '--help']) == 0")
    assert not loaded & (set(HEAVY) - {"pydantic"})
    assert "numpy" not in loaded


def test_planning_needs_no_noise_and_no_frame_library(tmp_path: Path) -> None:
    schema = tmp_path / "s.yaml"
    schema.write_text("columns: {a: {type: boolean}, b: {type: integer, min: 0, max: 9}}\n", encoding="utf-8")
    command = ["plan", "-s", str(schema), "--rows", "100", "-e", "1", "--method", "privbayes", "--json"]
    loaded = _loaded_after(f"from privbayes.cli.main import main\nassert main({command!r}) == 0")
    assert not loaded & {"opendp", "pandas", "polars", "narwhals", "matplotlib", "scipy"}
