"""LightGBM, imported on use."""

from __future__ import annotations

from typing import Any

from secateur.errors import MissingExtraError, SecateurError


def lightgbm() -> Any:
    """The library. Raises MissingExtraError where it is not installed, SecateurError where the system lacks what it needs."""
    try:
        import lightgbm as library
    except ImportError:
        raise MissingExtraError("lightgbm", "trees") from None
    except OSError as error:  # its wheels bring no OpenMP
        raise SecateurError(f"`lightgbm` cannot be loaded: {error}. On Debian and Ubuntu: apt-get install libgomp1") from error
    return library
