"""The command line: reads arguments, calls a verb, prints. Signatures, names and defaults are the verbs' own."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from secateur import __version__
from secateur.errors import ConfigurationError, SecateurError
from secateur.verbs.demo import demo
from secateur.verbs.design import design
from secateur.verbs.evaluate import evaluate
from secateur.verbs.export import export
from secateur.verbs.front import front
from secateur.verbs.measure import measure
from secateur.verbs.proxies import proxies
from secateur.verbs.prune import prune
from secateur.verbs.report import report
from secateur.verbs.resume import resume
from secateur.verbs.show import front_table, shown_export, shown_run
from secateur.verbs.train import train

app = typer.Typer(
    name="secateur",
    help="Find the Transformer architectures that trade quality against cost best, and take them home as checkpoints.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _command(verb: Callable[..., Any], show: Callable[[Any], None]) -> None:
    """Make a command of a verb. An error that the user can mend is shown without a traceback, and the exit code is 2."""

    @functools.wraps(verb)
    def command(**arguments: Any) -> None:
        try:
            show(verb(**arguments))
        except ConfigurationError as error:
            _fail(error.faults)
        except SecateurError as error:
            _fail([str(error)])
        except KeyboardInterrupt as stop:
            _fail([str(stop) or "stopped."], code=130)

    command.__doc__ = (verb.__doc__ or "").split("\n\n    Raises")[0]  # what it raises is for readers of the code
    app.command(verb.__name__)(command)


def _fail(lines: list[str], code: int = 2) -> None:
    for line in lines:
        print(f"secateur: {line}", file=sys.stderr)
    raise typer.Exit(code)


def _print(found: Any) -> None:
    typer.echo(str(found))


_command(demo, shown_run)
_command(prune, shown_run)
_command(design, shown_run)
_command(train, _print)
_command(resume, shown_run)
_command(front, front_table)
_command(export, shown_export)
_command(report, _print)
_command(measure, _print)
_command(evaluate, _print)
_command(proxies, _print)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Entry point."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    app()
