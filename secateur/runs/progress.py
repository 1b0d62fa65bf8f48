"""Progress: a bar on a terminal, a line now and then elsewhere, with the loss and the time left. Silent where nobody looks."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from secateur.report.terminal import echo
from secateur.runs.timing import Effort, TimeLeft, about, clock_text

#: Seconds between two lines where there is no terminal, and between two moments that are published.
LINES, PUBLISHED = 30.0, 2.0
#: On a terminal that is narrower, the numbers are shown without a bar.
WIDE = 100


class Advance(Protocol):
    """Says how far a bar is."""

    def __call__(self, done: int, total: int, loss: float | None = None) -> None: ...


@dataclass(frozen=True)
class Moment:
    """Where a run is. `left` and `run_left` are seconds, None where nothing is known yet."""

    title: str
    done: int
    total: int
    loss: float | None = None
    left: float | None = None
    run_left: float | None = None
    #: The losses of this bar so far, by step.
    losses: tuple[tuple[int, float], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain JSON, with the text that is shown."""
        return {**vars(self), "losses": [list(point) for point in self.losses], "text": str(self)}

    def __str__(self) -> str:
        share = 100 * self.done // max(self.total, 1)
        said = [f"{self.done:,} of {self.total:,}"] if self.loss is None else [f"{share} %", f"loss {self.loss:.3f}"]
        if self.left is not None and self.done < self.total:
            said.append(f"{'stage ' if self.run_left is not None else ''}{clock_text(self.left)} left")
        if self.run_left is not None:
            said.append(f"run about {about(self.run_left)} left")
        return " · ".join(said)


class Progress:
    """Hands out bars. `show` False gives bars that show nothing."""

    def __init__(self, show: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self.show = show
        self.clock = clock
        self.left = TimeLeft(clock=clock)
        self.publish: Callable[[Moment], None] | None = None
        self._published = clock()
        self._in_stage = False

    def plan(self, efforts: Mapping[str, Effort | None], publish: Callable[[Moment], None]) -> None:
        """What is ahead of a run, and who is told of it every few seconds, also where nothing is shown."""
        self.left = TimeLeft(efforts, self.clock)
        self.publish = publish

    @contextlib.contextmanager
    def bar(self, title: str, part: tuple[float, float] = (0.0, 1.0)) -> Iterator[Advance]:
        """A bar; call what is yielded with (done, total). `part`: from which share of the run's stage to which it goes."""
        first, last = part
        losses: list[tuple[int, float]] = []
        if not self._in_stage:
            self.left.begin(title)
        with self._display(title) as display:

            def advance(done: int, total: int, loss: float | None = None) -> None:
                self.left.reach(first + (last - first) * done / max(total, 1))
                if self.publish is not None and loss is not None and (not losses or losses[-1][1] != loss):
                    losses.append((done, loss))
                display(Moment(title, done, total, loss, self.left.of_stage, self.left.of_run))
                if self.publish is not None and self.clock() - self._published >= PUBLISHED:
                    self._published = self.clock()
                    self.publish(Moment(title, done, total, loss, self.left.of_stage, self.left.of_run, tuple(losses)))

            yield advance

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A stage of a run, in which there may be several bars."""
        self.left.begin(name)
        self._in_stage = True
        try:
            yield
        finally:
            self._in_stage = False
        self.left.end()

    def say(self, text: str) -> None:
        if self.show:
            echo(text, error=True)

    def _display(self, title: str) -> contextlib.AbstractContextManager[Callable[[Moment], None]]:
        if not self.show:
            return contextlib.nullcontext(lambda moment: None)
        return _bar(title) if _terminal() else self._lines()

    @contextlib.contextmanager
    def _lines(self) -> Iterator[Callable[[Moment], None]]:
        """A plain line now and then, and one at the end."""
        started = said = self.clock()
        latest: Moment | None = None

        def show(moment: Moment) -> None:
            nonlocal latest, said
            latest = moment
            if self.clock() - said >= LINES and moment.done < moment.total:
                said = self.clock()
                echo(f"{moment.title}: {moment}", error=True)

        yield show
        if latest is not None:
            took = clock_text(self.clock() - started)
            echo(f"{latest.title}: {latest} · took {took}", error=True)


def _terminal() -> bool:
    """Whether bars can be drawn: not into a file, a notebook or a terminal that cannot go back in a line."""
    from rich.console import Console

    console = Console(stderr=True)
    return sys.stderr.isatty() and not console.is_jupyter and not console.is_dumb_terminal


@contextlib.contextmanager
def _bar(title: str) -> Iterator[Callable[[Moment], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    bar = [BarColumn(bar_width=None)] if console.width >= WIDE else []
    columns = (TextColumn("{task.description}", markup=False), *bar, TextColumn("{task.fields[said]}", markup=False))
    with Bars(*columns, console=console, expand=bool(bar)) as bars:
        task: Any = bars.add_task(title, total=None, said="")
        yield lambda moment: bars.update(task, completed=moment.done, total=moment.total, said=str(moment))
