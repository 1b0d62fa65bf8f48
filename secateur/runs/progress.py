"""Progress on a terminal: a bar per stage with an estimate of the time left. Silent where nobody looks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

Advance = Callable[[int, int], None]


class Progress:
    """Hands out bars. `show` False gives bars that show nothing."""

    def __init__(self, show: bool = True) -> None:
        self.show = show

    @contextlib.contextmanager
    def bar(self, title: str) -> Iterator[Advance]:
        """A bar; call what is yielded with (done, total)."""
        if not self.show:
            yield lambda done, total: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        columns = (
            TextColumn("{task.description:<28}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with Bars(*columns, console=Console(stderr=True)) as bars:
            task: Any = bars.add_task(title, total=None)

            def advance(done: int, total: int) -> None:
                bars.update(task, completed=done, total=total)

            yield advance

    def say(self, text: str) -> None:
        if self.show:
            from rich.console import Console

            Console(stderr=True, highlight=False).print(text, soft_wrap=True)
