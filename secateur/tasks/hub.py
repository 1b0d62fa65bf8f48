"""The hub of models and data: without a network it costs a moment, and not half a minute of retries."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

#: Seconds to wait for its first answer.
PATIENCE = 5.0


@contextlib.contextmanager
def hub() -> Iterator[None]:
    """Within the context the hub is asked where it answers; where it does not, what was fetched before is all there is."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or _answers(constants.ENDPOINT):
        yield
        return
    asked: list[Any] = [constants, *([sys.modules["datasets.config"]] if "datasets.config" in sys.modules else [])]
    for settings in asked:
        settings.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for settings in asked:
            settings.HF_HUB_OFFLINE = False


def _answers(address: str) -> bool:
    import huggingface_hub

    try:
        huggingface_hub.get_session().head(address, timeout=PATIENCE)
    except Exception:  # of whatever library the session is
        return False
    return True
