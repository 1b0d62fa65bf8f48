"""The command line: reads arguments, calls a verb, prints. Signatures, names and defaults are the verbs' own."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from secateur import __version__
from secateur.catalogue import find
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
from secateur.verbs.train import train

_LOOK: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(
    name="secateur",
    help="Find the Transformer architectures that trade quality against cost best, and take them home as checkpoints.",
    **_LOOK,
)
#: Commands in groups: `secateur bench proxies`.
GROUPS = {"bench": typer.Typer(help="Compare search methods, proxies and encodings on tables.", **_LOOK)}
for _name, _group in GROUPS.items():
    app.add_typer(_group, name=_name)


def _command(verb: Callable[..., Any], show: Callable[[Any], None], group: str | None = None, hidden: bool = False) -> None:
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
    if hasattr(verb, "settings"):
        _describe(command, verb)
    (GROUPS[group] if group else app).command(verb.__name__, hidden=hidden)(command)


def _describe(command: Any, verb: Any) -> None:
    """Give a command the options that the settings of its verb describe."""
    settings = verb.settings
    own = {
        "to": typer.Option(
            help=f"The run's folder; by default the next free number, runs/{settings.verb}-001.", show_default=False
        ),
        "progress": typer.Option("--progress/--quiet", help="Show progress."),
    }
    parameters = []
    for name, parameter in inspect.signature(verb).parameters.items():
        described = own.get(name)
        if described is None:
            option = settings.options()[name]
            flags = [option.flag] if option.flag else []
            usual = getattr(settings, name, None)  # of a field that a preset may set, the signature's default is None
            shown = str(usual) if parameter.default is None and usual is not None else parameter.default is not None
            described = typer.Option(*flags, help=option.about, rich_help_panel=option.panel, show_default=shown)
        hint = parameter.annotation
        if name in settings.options() and hint == (str | list[int]) | None:
            hint = str | None
        parameters.append(parameter.replace(annotation=Annotated[hint, described], kind=inspect.Parameter.KEYWORD_ONLY))
    command.__signature__ = inspect.Signature(parameters)
    command.__annotations__ = {p.name: p.annotation for p in parameters}


def _fail(lines: list[str], code: int = 2) -> None:
    for line in lines:
        print(f"secateur: {line}", file=sys.stderr)
    raise typer.Exit(code)


def _print(found: Any) -> None:
    typer.echo(str(found))


def _finished(run: Any) -> None:
    find("report", run.configuration.verb)(run).show_finished()


def _members(found: Sequence[Any]) -> None:
    if not found:
        typer.echo("The front is empty: the search has not got so far yet.")
        return
    run = found[0].run
    find("report", run.configuration.verb)(run).show(found)


_command(demo, _finished)
_command(prune, _finished)
_command(design, _finished)
_command(train, _print)
_command(resume, _finished)
_command(front, _members)
_command(export, _print)
_command(report, _print)
_command(measure, _print)
_command(evaluate, _print)
_command(proxies, _print, group="bench")
_command(proxies, _print, hidden=True)  # its name before there were groups


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Entry point."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    app()
