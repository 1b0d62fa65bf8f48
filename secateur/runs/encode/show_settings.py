"""The settings of `secateur encode show`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from secateur.settings import Settings, option


@dataclass(frozen=True, kw_only=True)
class ShowSettings(Settings):
    """What of a trained encoding is shown, and where."""

    table: str | None = option(None, "A table by name or a file; by default the space that it was trained on, without values.")
    metric: str | None = option(None, "The table's column or curve to colour by; by default the first that it optimises.")
    budget: float | None = option(
        None, "Where to look at the curves; by default where the table reports them.", above=0, most=10**9
    )
    projection: str = option("tsne", "How embeddings are put on a plane: tsne or pca.", known=("tsne", "pca"))
    seed: int = option(0, "Of what is drawn, and of the projection.", least=0, most=2**32 - 1)
    to: Path | None = option(None, "The page to write; by default show.html in the encoding's folder.")
    open: bool = option(False, "Open it in the browser.", flag="--open")

    def contradictions(self) -> list[str]:
        found = []
        if self.to is not None and self.to.suffix != ".html":
            found.append(f"`to` must be a page such as show.html, got `{self.to}`.")
        given = [name for name in ("metric", "budget") if getattr(self, name) is not None and self.sound(name)]
        if given and self.table is None:
            found.append(f"`{given[0]}` is of a table: give --table.")
        return found
