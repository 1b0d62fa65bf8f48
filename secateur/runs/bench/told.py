"""What a bench found, told on the terminal and on a page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from secateur.errors import MissingExtraError
from secateur.report.bench_page import Section, bench_html
from secateur.report.rows import Table
from secateur.report.terminal import say
from secateur.report.text_table import print_table, table_blocks
from secateur.writing import write_whole


class Told(ABC):
    """A table, what a reader must know of it, and a page, in a `folder` that also has the `results`."""

    title: ClassVar[str]
    results: ClassVar[str]
    page: ClassVar[str]
    folder: Path
    notes: list[str]

    @abstractmethod
    def shown(self) -> Table:
        """The table."""

    @abstractmethod
    def said(self) -> list[str]:
        """What a reader must know of the figures."""

    @abstractmethod
    def sections(self) -> Iterable[Section]:
        """Those of the page."""

    def __str__(self) -> str:
        return "\n".join([*table_blocks(self.shown())[0], "", *self.said(), self._written()])

    def show(self) -> None:
        print_table(self.shown(), self.title)
        say()
        for note in self.said():
            say(note)
        say(self._written(), whole=True)

    def _written(self) -> str:
        page = self.folder / self.page
        return f"Written: {page if page.exists() else self.folder / self.results}"

    def write(self) -> None:
        """The page, where what draws it is installed."""
        try:
            html = bench_html(self.title, self.said(), list(self.sections()))
        except MissingExtraError as error:  # what took long is in the other file
            self.notes.append(f"No page was written: {error}")
            return
        write_whole(html, self.folder / self.page)
