"""What mkdocs does before it builds: the README, the recipes and the changelog become pages, and the reference is written.

The pages keep their places in the repository, so that links between them work here and there. The reference of the verbs comes
from their settings, as the command line does; that of the classes from their docstrings (mkdocstrings).
"""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from typer.main import get_command

import secateur
from secateur.catalogue import names
from secateur.cli import app
from secateur.help import sections

ROOT = Path(__file__).resolve().parent.parent
FOLDERS, FILES = ("docs", "recipes", "benchmarks"), ("README.md", "CHANGELOG.md")
#: The classes that a user meets, as they are reached from Python.
CLASSES = {
    "Runs": ("secateur.runs.prune.run.PruneRun", "secateur.runs.design.run.DesignRun"),
    "Their members": ("secateur.runs.prune.run.PruneMember", "secateur.runs.design.run.DesignMember"),
    "Front and objectives": ("secateur.study.front.Front", "secateur.objectives.Objective", "secateur.objectives.Bound"),
    "Networks": ("secateur.supernet.supernet.Supernet", "secateur.architecture.Architecture"),
    "Functions": ("secateur.checkpoints.load", "secateur.runs.folder.open_run"),
}


_ABOUT = (
    "A verb is a command and, most of them, a function of `secateur` with the same parameters: `--max-train` is `max_train`."
)


def on_config(config: Any) -> Any:
    """Collect the pages in a folder of their own."""
    pages = Path(mkdtemp(prefix="secateur-pages-"))
    for name in FOLDERS:
        shutil.copytree(ROOT / name, pages / name, ignore=shutil.ignore_patterns("__pycache__", "*.parquet"))
    for name in FILES:
        shutil.copy(ROOT / name, pages / name)
    (pages / "docs" / "api.md").write_text(reference(), encoding="utf-8")
    config.docs_dir = str(pages)
    config.watch += [str(ROOT / name) for name in (*FOLDERS, *FILES, "secateur")]
    return config


def on_post_build(config: Any) -> None:
    shutil.rmtree(config.docs_dir)


def reference() -> str:
    """The page of everything public: the verbs with their settings, the classes."""
    lines = ["# API and options", "", _ABOUT]
    for verb in names("verb"):
        lines += ["", *_verb(verb)]
    for title, classes in CLASSES.items():
        lines += ["", f"## {title}"]
        lines += [line for name in classes for line in ("", f"::: {name}")]
    return "\n".join(lines) + "\n"


def _verb(verb: str) -> list[str]:
    """A verb: what it does, and its arguments and options by topic."""
    command = get_command(app)
    for word in verb.split():
        command = command.commands[word]
    lines = [f"## {verb}", "", inspect.cleandoc(command.help or "")]
    if (function := verb.split()[-1]) in secateur.__all__:
        lines += ["", f"In Python: `secateur.{function}(…)`."]
    for title, records in sections(command, command.make_context(verb, [], resilient_parsing=True)).items():
        lines += ["", f"| {title} | |", "|---|---|"]
        lines += [f"| `{typed}` | {text.replace('|', chr(92) + '|')} |" for typed, text in records if "--help" not in typed]
    return lines
