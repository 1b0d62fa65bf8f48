"""Install the wheel into a fresh environment, use it, and write down what was tried: a row of docs/installing.md.

    python tools/try_wheel.py --python python3.12 --record

The versions are those of constraints.txt. torch is the CPU build (`torch==VERSION+cpu`); where pip finds none for this Python,
everything but torch is installed, and only what needs no torch is tried. With --own-packages the environment also sees what is
installed in the interpreter, torch for example, and those versions stand.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "installing.md"
PINS = [line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line]
#: Tests of what needs no torch, and of what does.
WITHOUT_TORCH = [
    "spaces",
    "pareto",
    "encodings",
    "study",
    "tables",
    "test_architecture.py",
    "test_objectives.py",
    "test_trial.py",
]
WITHOUT_TORCH += [f"search/test_{name}.py" for name in ("base", "evolution", "local", "mo_rea", "nsga2", "random")]
WITH_TORCH = [name for name in WITHOUT_TORCH if not name.startswith("search/")] + ["search", "anatomy", "supernet", "decoders"]
WITH_TORCH += ["training", "export", "runs", "verbs", "test_cli.py", "test_settings.py"]
TOY = """
import sys
from pathlib import Path
import secateur
from secateur.testing.models import toy_model
from secateur.testing.toy_tokenizer import toy_tokenizer
here = Path(sys.argv[1])
texts = [f"{'good' if i % 2 else 'bad'} film number {'one two three'.split()[i % 3]}" for i in range(96)]
toy_model("bert", num_labels=2).save_pretrained(here / "model")
toy_tokenizer(texts).save_pretrained(here / "model")
(here / "data.csv").write_text("text,label\\n" + "".join(f"{text},{i % 2}\\n" for i, text in enumerate(texts)))
run = secateur.prune(str(here / "model"), str(here / "data.csv"), to=here / "run", epochs=1.0, trials=8, polish_at=["50%"],
                     polish_epochs=1.0, device=sys.argv[2], progress=False)
run.front.best(under={"body_parameters": "90%"}).save(here / "saved")
secateur.load(here / "saved")
print("pruned, saved, loaded")
"""
LOOK = """
import json, os, platform, sys
from importlib.metadata import distributions
folders = [p for p in sys.path if p.rstrip("/").endswith(("site-packages", "dist-packages"))]
names = [d.metadata["Name"] for d in distributions()]
print(json.dumps([platform.python_version(), folders, [n for n in names if n]]))
"""


class Trial:
    """An environment of one interpreter, and what was found in it."""

    def __init__(self, python: str, folder: Path, own_packages: bool) -> None:
        self.folder, self.bin = folder, folder / "env" / "bin"
        self.version, site, there = json.loads(_output([python, "-c", LOOK]))
        subprocess.run([python, "-m", "venv", str(folder / "env")], check=True)
        _output([str(self.bin / "python"), "-m", "pip", "install", "--quiet", "--upgrade", "pip"], check=False)
        kept = {_plain(name) for name in there} if own_packages else set()
        self.pins = [pin for pin in PINS if _plain(pin.partition("==")[0]) not in kept]
        if own_packages:
            inside = Path(_output([str(self.bin / "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]))
            (inside / "own_packages.pth").write_text("\n".join(site), encoding="utf-8")

    def pip(self, *arguments: str) -> str | None:
        """Why pip could not install it; None where it could."""
        constraints = self.folder / "constraints.txt"
        constraints.write_text("\n".join(self.pins), encoding="utf-8")
        command = [str(self.bin / "python"), "-m", "pip", "install", "--quiet", "-c", str(constraints), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        return None if done.returncode == 0 else "\n".join(lines[-5:]) or f"pip ended with {done.returncode}"

    def torch(self) -> str:
        """The torch of the environment, installed where pip has a CPU build; an empty text where there is none."""
        version = [str(self.bin / "python"), "-c", "import torch; print(torch.__version__)"]
        if found := _output(version, check=False):
            return found
        pin = next((pin for pin in self.pins if pin.startswith("torch==")), None)
        return _output(version) if pin is not None and self.pip(f"{pin}+cpu") is None else ""

    def install(self, wheel: Path, torch: str) -> str:
        """Install the wheel, from its file. Returns how, in words."""
        if torch:
            fault = self.pip(f"secateur[all] @ {wheel.as_uri()}", "pytest", "hypothesis", "tensorboard")
            said = "`secateur[all]`, constraints.txt" if len(self.pins) == len(PINS) else "`secateur[all]` beside its packages"
        else:
            pins = [pin for pin in self.pins if not pin.startswith("torch==")]
            (self.folder / "pins.txt").write_text("\n".join(pins), encoding="utf-8")
            fault = self.pip("--no-deps", "-r", str(self.folder / "pins.txt"), str(wheel))
            said = f"wheel and all {len(pins)} packages of constraints.txt but torch"
        if fault is not None:
            raise SystemExit(f"Python {self.version}: {fault}")
        return said

    def secateur(self, *arguments: str) -> str:
        return _output([str(self.bin / "secateur"), *arguments], cwd=self.folder)

    def prune(self, device: str) -> str:
        """A toy is pruned, saved and loaded through the public API."""
        (self.folder / "toy.py").write_text(TOY, encoding="utf-8")
        command = [str(self.bin / "python"), "toy.py", str(self.folder), device]
        return _output(command, cwd=self.folder).splitlines()[-1]

    def tests(self, folders: list[str]) -> str:
        """The quick tests in these folders, on the installed package. Returns pytest's closing line."""
        where = _output([str(self.bin / "python"), "-c", "import secateur; print(secateur.__file__)"], cwd=self.folder)
        assert Path(where).is_relative_to(self.folder), f"not the wheel's: {where}"
        command = [
            str(self.bin / "python"),
            "-m",
            "pytest",
            "-m",
            "not slow",
            "-p",
            "no:cacheprovider",
            "-c",
            str(ROOT / "pyproject.toml"),
        ]
        command += [str(ROOT / "tests" / name) for name in folders]
        done = _run(command, self.folder)
        found = re.findall(r"^[^\n]*\d+ passed[^\n]*$", done.stdout, re.MULTILINE)
        if done.returncode or not found:
            print(done.stdout[-20_000:], done.stderr[-2000:])
        return re.sub(r" in [\d.]+s.*|=+|,? ?\d+ (deselected|warnings?)", "", found[-1]).strip() if found else "none ran"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _run(command: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command that must not see another package than the environment's."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)


def _output(command: list[str], check: bool = True, cwd: Path | None = None) -> str:
    done = _run(command, cwd)
    if done.returncode and check:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout.strip() if not done.returncode else ""


def tried(python: str, wheel: Path, own_packages: bool, device: str) -> list[str]:
    """The row of the table: Python, torch, what was installed, the command line, a toy run, the tests."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(python, Path(folder), own_packages)
        torch = trial.torch()
        how = trial.install(wheel, torch)
        assert trial.secateur("--version") in wheel.name
        assert "Commands:" in trial.secateur("--help")
        ran = f"{trial.prune(device)} on {device}" if torch else "not tried"
        tests = trial.tests(WITH_TORCH if torch else WITHOUT_TORCH)
        return [trial.version, torch or "no CPU build found", how, "`--version`, `--help`", ran, tests]


def record(row: list[str], page: Path = PAGE) -> None:
    """Put the row into the table, in the place of the one for the same Python and torch."""
    lines = page.read_text(encoding="utf-8").splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("| Python |")) + 2
    last = next((place for place in range(first, len(lines)) if not lines[place].startswith("|")), len(lines))
    rows = {tuple(line.split(" | ")[:2]): line for line in lines[first:last]}
    new = f"| {' | '.join(row)} |"
    rows[tuple(new.split(" | ")[:2])] = new
    lines[first:last] = sorted(rows.values())
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="the interpreter")
    parser.add_argument("--wheel", type=Path, default=None, help="by default the newest in dist/")
    parser.add_argument(
        "--own-packages", action="store_true", help="see what is installed in the interpreter, torch for example"
    )
    parser.add_argument("--device", default="cpu", help="of the toy run")
    parser.add_argument("--record", action="store_true", help="write the row into docs/installing.md")
    given = parser.parse_args()
    wheel = given.wheel or max((ROOT / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    row = tried(given.python, wheel.resolve(), given.own_packages, given.device)
    print(f"| {' | '.join(row)} |")
    if given.record:
        record(row)


if __name__ == "__main__":
    main()
