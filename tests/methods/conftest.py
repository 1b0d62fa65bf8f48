"""What tests of several methods share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`interrupt(where, name, count)`: the user stops the run when this is called for the `count`-th time, before it does
    anything; with `after=True` once it has."""

    def place(where: Any, name: str, count: int, after: bool = False) -> None:
        real, calls = getattr(where, name), [0]

        def stops(*given: Any, **more: Any) -> Any:
            calls[0] += 1
            if calls[0] == count and not after:
                raise KeyboardInterrupt
            found = real(*given, **more)
            if calls[0] == count:
                raise KeyboardInterrupt
            return found

        monkeypatch.setattr(where, name, stops)

    return place
