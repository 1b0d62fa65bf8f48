"""Tables of results: rows that are measured again take the place of the old ones, and pages show tables computed from files."""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table; none where there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def replace_rows(path: Path, rows: list[dict[str, Any]], by: tuple[str, ...]) -> None:
    """Write rows to a table, in the place of those that have the same values of some columns; else behind the others."""
    new = {tuple(str(row[name]) for name in by) for row in rows}
    before = rows_of(path)
    old = [tuple(row[name] for name in by) in new for row in before]
    place = old.index(True) if any(old) else len(before)
    kept = [(number, row) for number, row in enumerate(before) if not old[number]]
    shown = [{k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([row for number, row in kept if number < place])
        writer.writerows(shown)
        writer.writerows([row for number, row in kept if number > place])


def is_known(path: Path, **by: Any) -> bool:
    """Whether a table has a row with these values."""
    return any(all(row[name] == str(value) for name, value in by.items()) for row in rows_of(path))


def mean_ranks(rows: Iterable[Mapping[str, str]], name: Callable[[Mapping[str, str]], str]) -> dict[str, float]:
    """Name → the mean of the `rank` of its rows, the lowest first."""
    ranks: dict[str, list[float]] = {}
    for row in rows:
        ranks.setdefault(name(row), []).append(float(row["rank"]))
    return dict(sorted(((one, sum(r) / len(r)) for one, r in ranks.items()), key=lambda found: found[1]))


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table as a page has it."""
    body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([f"| {' | '.join(header)} |", "|---" * len(header) + "|", *body])


def filled(text: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """The text with the tables between their marks."""
    for name, table in tables.items():
        text = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, made=table: f"{m[1]}{made()}\n{m[2]}", text, flags=re.DOTALL
        )
    return text


def show(page: Path, tables: Mapping[str, Callable[[], str]], about: str | None) -> None:
    """What a `tables.py` does: print its tables, or with `--write` write them into the page."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        page.write_text(filled(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
    else:
        print("\n\n".join(table() for table in tables.values()))
