"""The layout of DESIGN.md, kept: imports go up only, files stay short, nothing heavy loads before it is needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "secateur"

#: The layout, top to bottom. What shares a line may import each other. The catalogue stands high: it is a table of strings.
LAYOUT = [
    ["errors"],
    ["paths"],
    ["writing"],
    ["settings"],
    ["catalogue"],
    ["rng"],
    ["architecture"],
    ["objectives"],
    ["trial"],
    ["pareto"],
    ["spaces"],
    ["encodings"],
    ["predictors"],
    ["search"],
    ["anatomy"],
    ["supernet"],
    ["decoders", "cells", "images"],
    ["tasks"],
    ["training"],
    ["checkpoints"],
    ["export", "auto"],
    ["devices"],
    ["estimators"],
    ["methods"],
    ["tables"],
    ["study"],
    ["report"],
    ["runs"],
    ["verbs"],
    ["help", "trouble"],
    ["cli", "__main__"],
    ["testing"],
]
#: Inside the two folders that hold everything together, top to bottom; jobs know nothing of each other.
INSIDE = {
    "runs": [
        ["progress", "timing", "settings"],
        ["folder", "bounds", "crew", "launched"],
        ["comparison", "reporting", "state", "stages", "starting", "status", "tables", "watching"],
        ["prune", "design", "cells", "bench", "encode"],
    ],
    "verbs": [
        ["completion", "documented", "exporting"],
        ["signature"],
        [
            "prune",
            "design",
            "cells",
            "train",
            "resume",
            "join",
            "front",
            "export",
            "report",
            "watch",
            "status",
            "compare",
            "measure",
            "evaluate",
            "proxies",
            "bench_search",
            "bench_predictors",
            "bench_encodings",
            "bench_import",
            "bench_extrapolators",
            "bench_surrogate_fit",
            "bench_surrogate_query",
            "bench_surrogate_evaluate",
            "bench_pruning",
            "encode_pretrain",
            "encode_embed",
            "encode_show",
        ],
        ["demo"],
    ],
}
#: The walk of a job, file by file.
JOB = [
    ["data_settings", "fitting", "large_settings", "method_checks", "objective_checks", "presets", "trainings", "searching"],
    ["settings"],
    ["forms"],
    ["baselines", "efforts", "polishing", "prediction", "proxies", "training"],
    ["contest", "member"],
    ["run", "training_status"],
    ["formats", "report"],
    ["measuring"],
    ["stages", "planning"],
]
RANK = {name: rank for rank, line in enumerate(LAYOUT) for name in line}

#: Libraries that take long to import: none may load with `import secateur` or `--help`.
HEAVY = ("torch", "transformers", "pandas", "sklearn", "scipy", "botorch", "optuna", "plotly", "moocore", "sqlalchemy")
HEAVY += ("datasets", "lm_eval", "lightgbm", "xgboost", "ray")

FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """The package or module of the layout that a file belongs to; an empty string for `secateur/__init__.py`."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imports(path: Path) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Line, module and names of every import of a file, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, ()
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield node.lineno, ("." * node.level) + (node.module or ""), names


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def modules_imported(path: Path) -> set[str]:
    """The package's modules that a file imports when it runs, at its head or later; what only type checkers see is left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{a.name}" if f"{node.module}.{a.name}" in MODULES else node.module for a in node.names}
    return {name for name in found if name in MODULES} - {module_of(path)}


MODULES_IMPORTED = {module: modules_imported(path) for module, path in MODULES.items()}


def upward_faults(path: Path, part: str, found: Iterator[tuple[int, str, tuple[str, ...]]]) -> list[str]:
    """The imports of a file that go down the layout."""
    faults = []
    for line, module, names in found:
        if module.startswith("."):
            # Saved folders carry copies of the networks' files, which then stand alone: these import their neighbours only.
            if part == "decoders" and module.count(".") == 1 and (path.parent / f"{module[1:]}.py").is_file():
                continue
            faults.append(f"{path.name}:{line}: relative import of {module}")
        elif module == "secateur":
            targets = [name for name in names if name != "__version__"]  # the version is the package's own, known to all
            faults += [f"{path.name}:{line}: {name} from the package itself" for name in targets if name not in RANK]
            faults += [f"{path.name}:{line}: {name}" for name in targets if name in RANK and RANK[name] > RANK[part]]
        elif module.startswith("secateur."):
            target = module.split(".")[1]
            if RANK[target] > RANK[part]:
                faults.append(f"{path.name}:{line}: {module} stands below {part}")
    return faults


@pytest.mark.parametrize("path", [p for p in FILES if part_of(p)], ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_up_only(path):
    assert upward_faults(path, part_of(path), imports(path)) == []


def test_every_part_is_in_the_layout():
    assert {part_of(path) for path in FILES} - {""} <= set(RANK)


def test_an_import_that_goes_down_is_found(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text("def f():\n    from secateur.study import Study\n    import secateur.rng\n")
    assert upward_faults(path, "search", imports(path)) == ["wrong.py:2: secateur.study stands below search"]


@pytest.mark.parametrize("part", ["errors", "rng", "architecture", "objectives", "pareto", "spaces"])
def test_values_know_nothing_of_torch(part):
    for path in FILES:
        if part_of(path) == part:
            modules = {module.split(".")[0] for _, module, _ in imports(path)}
            assert not modules & {"torch", "transformers"}, path


def test_files_are_short():
    long = {str(p.relative_to(ROOT)): n for p in FILES if (n := len(p.read_text(encoding="utf-8").splitlines())) >= 400}
    assert not long


def test_files_are_named_after_a_concept():
    vague = {"utils", "util", "helpers", "helper", "misc", "common"}
    assert [p for p in FILES if p.stem in vague or p.parent.name in vague] == []


@pytest.mark.parametrize(
    "code",
    [
        "import secateur",
        "import secateur.catalogue",
        "from secateur.cli import main; sys.argv = ['secateur', '--help']; main()",
        "from secateur.cli import main; sys.argv = ['secateur', 'prune', '--help']; main()",
    ],
    ids=["import", "catalogue", "help", "prune-help"],
)
def test_nothing_heavy_loads_early(code):
    script = (
        f"import atexit, sys\natexit.register(lambda: print('LOADED', *[h for h in {HEAVY!r} if h in sys.modules]))\n{code}"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split() == ["LOADED"]


def inner_rank(path: Path) -> tuple[str, int] | None:
    """Where a file of `runs` or `verbs` stands in its folder."""
    first, *rest = path.relative_to(PACKAGE).parts
    if first not in INSIDE or rest[0] == "__init__.py":
        return None
    name = rest[0].removesuffix(".py")
    return first, next(rank for rank, line in enumerate(INSIDE[first]) if name in line)


@pytest.mark.parametrize("folder", list(INSIDE))
def test_runs_and_verbs_are_layered_inside(folder):
    faults = []
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        place = inner_rank(path)
        for target in MODULES_IMPORTED[module_of(path)] if place else ():
            other = inner_rank(MODULES[target]) if target.startswith(f"secateur.{folder}.") else None
            if other is not None and place is not None and other[1] > place[1]:
                faults.append(f"{path.relative_to(PACKAGE)} imports {target}")
            own, theirs = path.relative_to(PACKAGE).parts[1], target.split(".")[2] if other else ""
            if folder == "runs" and other == place == ("runs", 3) and own != theirs:
                faults.append(f"{path.relative_to(PACKAGE)}: the job {own} knows of {theirs}")
    assert faults == []


@pytest.mark.parametrize("job", ["prune", "design"])
def test_a_job_is_walked_one_way(job):
    ranks = {f"secateur.runs.{job}.{name}": rank for rank, line in enumerate(JOB) for name in line}
    faults = [
        f"{module} imports {target}"
        for module, rank in ranks.items()
        if module in MODULES
        for target in MODULES_IMPORTED[module]
        if ranks.get(target, -1) > rank
    ]
    assert faults == []
    assert {m for m in MODULES if m.startswith(f"secateur.runs.{job}.")} <= set(ranks)


def cycles(imported: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules that import each other in a circle: what is left when those that import nothing left are taken."""
    left = {module: set(targets) for module, targets in imported.items()}
    for turned in (False, True):
        while True:
            done = {m for m, targets in left.items() if not targets & left.keys()}
            if not done:
                break
            left = {m: targets for m, targets in left.items() if m not in done}
        if not turned:  # and those that nothing left imports
            left = {m: {a for a, targets in left.items() if m in targets} for m in left}
    return [sorted(left)] if left else []


def test_no_modules_import_each_other_in_a_circle():
    assert cycles(MODULES_IMPORTED) == []
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_the_walk_in_the_docs_is_true():
    """Every file and function that docs/architecture.md names is there."""
    lines = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines()
    rows = [
        re.findall(r"`([^`]+)`", " | ".join(line.split("|")[-3:])) for line in lines if line.startswith("| ") and ".py`" in line
    ]
    assert len(rows) >= 25
    missing = []
    for path, *names in rows:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        here = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        for name in names:
            owner, _, method = name.rpartition(".")
            inside = {n.name for n in here[owner].body if isinstance(n, ast.FunctionDef)} if owner in here else set()
            if (method not in inside) if owner else (name not in here):
                missing.append(f"{path}: {name}")
    assert missing == []


def test_functions_are_short():
    """80 lines at most, the signature apart."""
    long = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.body[0].lineno >= 80:
                long.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert long == []


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, cwd=ROOT)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_machine_is_named():
    # Written in pieces, so that this file does not name one either.
    places = "|".join("/" + name + "/" for name in ("root", "work", "home/[a-z]+", "Users/[A-Za-z]+", "tmp/[a-z]"))
    found = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in re.finditer(rf"(?<![\w.])(?:{places})", text)]
    assert found == []


def test_one_place_prints() -> None:
    """What is printed is made safe for terminals where it is printed: nothing else in the package does."""
    for path in FILES:
        if path != PACKAGE / "report" / "terminal.py" and path.parent.name != "testing":
            calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
            names = {call.id for call in calls if isinstance(call, ast.Name)}
            names |= {ast.unparse(call) for call in calls if isinstance(call, ast.Attribute)}
            assert not names & {"print", "typer.echo", "click.echo"}, path


def test_commands_in_messages_are_quoted() -> None:
    """A folder with blanks in its name can be pasted."""
    for path in FILES:
        assert not re.search(r"secateur [a-z]+ \{(?!quoted\()", path.read_text()), path
