"""The wheel and the source archive: they build without a network, hold everything, and say what they need."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import secateur

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Files of the package as they lie in the repository.
SOURCE = {p.relative_to(ROOT).as_posix(): p for p in (ROOT / "secateur").rglob("*") if p.is_file() and p.suffix != ".pyc"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both: the wheel is built from the unpacked archive."""
    pytest.importorskip("build")
    copy, out = tmp_path_factory.mktemp("source") / "repo", tmp_path_factory.mktemp("dist")
    shutil.copytree(ROOT / "secateur", copy / "secateur", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "constraints.txt"):
        shutil.copy(ROOT / name, copy / name)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(next(built.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_everything_is_in_it(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == set(SOURCE)
    for name in ("secateur/py.typed", "secateur/report/templates/run.html", "secateur/anatomy/carving.py"):
        assert wheel.read(name) == SOURCE[name].read_bytes()
    (license_file,) = (name for name in wheel.namelist() if name.endswith("LICENSE"))
    assert wheel.read(license_file) == (ROOT / "LICENSE").read_bytes()


def test_it_passes_the_registrys_checks(built: Path) -> None:
    pytest.importorskip("twine")
    from twine.commands.check import check

    files = sorted(map(str, built.iterdir()))
    assert len(files) == 2
    assert check(files, strict=True) is False  # no failure


def test_metadata(metadata: Message) -> None:
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(metadata.get_all("Classifier") or []))
    assert versions == ["3.11", "3.12", "3.13"]
    assert str(metadata.get_payload()).startswith("# Secateur")


def test_it_runs_from_the_wheel_alone(built: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "site"
    zipfile.ZipFile(next(built.glob("*.whl"))).extractall(unpacked)
    code = f"import sys; sys.path.insert(0, {str(unpacked)!r}); import secateur; print(secateur.__file__)"
    code += "; from secateur.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.stdout.split() == [str(unpacked / "secateur" / "__init__.py"), secateur.__version__], done.stderr


def test_all_that_is_imported_is_declared() -> None:
    """In the dependencies or in an extra; what a declared package always brings may be imported too."""
    brought = {"huggingface_hub", "tokenizers", "httpx", "gpytorch", "linear_operator", "markupsafe"}
    extras = [text for group in PROJECT["optional-dependencies"].values() for text in group]
    declared = {re.split(r"[<>=\[ ]", text)[0].lower().replace("_", "-") for text in (*PROJECT["dependencies"], *extras)}
    found = packages_distributions()
    missing = set()
    for path in SOURCE.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.suffix == ".py" else ():
            named = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                named = [node.module or ""]
            for top in {name.partition(".")[0] for name in named} - sys.stdlib_module_names - brought - {"secateur"}:
                names = {name.lower().replace("_", "-") for name in found.get(top, [top])}
                if not names & declared:
                    missing.add(f"{top} in {path.relative_to(ROOT)}")
    assert missing == set()
