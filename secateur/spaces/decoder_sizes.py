"""What a decoder language model has beside its architecture: its vocabulary, and how much of a text it sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from secateur.errors import ConfigurationError
from secateur.settings import MOST_TOKENS, Settings, fits, option

#: Where the clusters of an adaptive embedding end unless one says otherwise: those of Baevski & Auli (2019) for words.
CUTOFFS = (20_000, 40_000, 200_000)
#: No network is wider.
MOST_WIDTH = 1_000_000
#: No vocabulary is larger.
MOST_VOCABULARY = 10_000_000


class _Choices(TypedDict):
    backbone: str
    width: int
    heads: list[int]
    inner: list[int]
    embedding: int
    factor: int


def choices_fault(choices: dict[str, Any]) -> str | None:
    """Why there is no decoder language model with these choices, whatever its space; None where there is one."""
    if not fits(choices, _Choices):
        return f"it must have {', '.join(_Choices.__annotations__)}, whole numbers all but the first"
    width, heads, inner = choices["width"], choices["heads"], choices["inner"]
    if not heads or len(heads) != len(inner):
        return f"it needs heads and inner widths for each layer, got {len(heads)} and {len(inner)}"
    if min(width, *heads, *inner) < 1 or max(width, *inner) > MOST_WIDTH or any(width % h for h in heads):
        return f"its widths must lie in 1…{MOST_WIDTH:,} and its heads divide the width, got width {width}"
    if not 0 <= choices["embedding"] <= MOST_WIDTH or not 1 <= choices["factor"] <= MOST_WIDTH:
        return f"its embedding and factor must lie in 0…{MOST_WIDTH:,}, got {choices['embedding']} and {choices['factor']}"
    return None


@dataclass(frozen=True, kw_only=True)
class Sizes(Settings):
    """The sizes that all networks of a run share. Raises ConfigurationError for those that no network can have.

    `cutoffs` are without effect where there is one cluster: a plain table, or factor 1. None stands for the default ones that
    lie within the vocabulary; they are there afterwards.
    """

    vocabulary: int = option(about="Number of tokens in the vocabulary.", least=1, most=MOST_VOCABULARY)
    cutoffs: tuple[int, ...] | None = option(None, "Where the vocabulary's clusters end, the last one not named.")
    positions: int = option(1024, "The longest text, in tokens (GPT-2).", least=1, most=MOST_TOKENS)
    recurrence: int = option(0, "Tokens remembered from earlier segments (Transformer-XL).", least=0, most=MOST_TOKENS)

    def __post_init__(self) -> None:
        self.check()
        given = self.cutoffs
        ends = tuple(c for c in CUTOFFS if c < self.vocabulary) if given is None else tuple(given)
        if any(a >= b for a, b in zip((0, *ends), (*ends, self.vocabulary), strict=True)):
            raise ConfigurationError(
                f"`cutoffs` must ascend between 1 and the vocabulary's {self.vocabulary} − 1, got {list(ends)}."
            )
        object.__setattr__(self, "cutoffs", ends)

    def clusters(self, embedding: int, factor: int) -> list[tuple[int, int]]:
        """The (size, width) of each cluster of an adaptive embedding; one cluster where the factor is 1."""
        edges = (0, *(self.cutoffs or () if factor > 1 else ()), self.vocabulary)
        return [(edges[j + 1] - edges[j], max(1, embedding // factor**j)) for j in range(len(edges) - 1)]
