"""How help looks: what most people need on the first screen, everything by topic with --help-all. Nothing is cut short."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from secateur.report.terminal import echo, plain

#: Of all that is wrong with the words of a command. typer carries it within itself, or has it from click.
_UsageError: Any = typer.BadParameter.__bases__[0]
_EVERYTHING = "secateur.everything"


def _show_everything(ctx: typer.Context, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        ctx.meta[_EVERYTHING] = True
        echo(ctx.get_help())
        raise typer.Exit


#: The option that shows the topics too; for commands that have some.
HelpAll = Annotated[
    bool, typer.Option("--help-all", is_eager=True, callback=_show_everything, help="Show all options and exit.")
]


def sections(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Topic → its options as they are typed, and what they are for. `Options` are those without a topic."""
    found: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        title = "Arguments" if parameter.param_type_name == "argument" else parameter.rich_help_panel or "Options"
        typed = re.sub(r"[<{](?:list\[)?(\w+)\]?[>}]", lambda kind: kind[1].upper(), record[0])
        typed = re.sub(r"^(\w+)(?:\.\.\.)? \w+$", r"\1", typed)  # of an argument, the name says enough
        found.setdefault(title, []).append((typed, record[1]))
    return {title: records for title, records in found.items() if records}


class Command(TyperCommand):
    """A command whose options with a topic are shown when they are asked for."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub("[{}]", "", piece).upper() for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        found = sections(self, ctx)
        topics = [title for title in found if title not in ("Arguments", "Options")]
        for title, records in found.items():
            if title not in topics or _EVERYTHING in ctx.meta:
                with formatter.section(title):
                    formatter.write_dl(records)
        if topics and _EVERYTHING not in ctx.meta:
            more = sum(len(found[title]) for title in topics)
            told = ", ".join(topic[0].lower() + topic[1:] for topic in topics)
            formatter.write_paragraph()
            formatter.write_text(f"{more} more options ({told}): {ctx.command_path} --help-all")


class Group(TyperGroup):
    """A group that names its commands first, and says in one line what is wrong with an option."""

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            sys.exit(super().main(*args, **{**extra, "standalone_mode": False}) or 0)
        except _UsageError as error:
            if type(error).__name__ != "NoArgsIsHelpError":
                said = " ".join(error.format_message().split())
                echo(f"secateur: {plain(said[:1].lower() + said[1:], one_line=True)}", error=True)
            else:
                error.show()
            sys.exit(error.exit_code)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        for title, records in sections(self, ctx).items():
            with formatter.section(title):
                formatter.write_dl(records)
