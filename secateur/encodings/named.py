"""Encodings by name, made once."""

from __future__ import annotations

from functools import lru_cache

from secateur.catalogue import find_encoding
from secateur.encodings.base import Encoding
from secateur.encodings.learned.trained import fingerprint
from secateur.encodings.standardised import Standardised
from secateur.spaces.base import Space


def encoding_of(space: Space, name: str) -> Encoding:
    """The encoding of a name, or of a folder: one for all searches of one space, so that what is kept of it serves all.

    Raises UnknownNameError, ConfigurationError where it cannot serve the space, StudyError where the folder is damaged.
    """
    return _made(space, name, fingerprint(name))


@lru_cache(maxsize=16)
def _made(space: Space, name: str, weights: str) -> Encoding:
    made: Encoding = find_encoding(name)(space)
    return made


@lru_cache(maxsize=16)
def standardised(space: Space, encoding: Encoding) -> Standardised:
    """The same with mean 0 and deviation 1."""
    return Standardised(space, encoding)
