"""Model-based searchers by name: each is a setting of ModelSearcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from secateur.catalogue import check_encoding, find, find_encoding
from secateur.encodings import Encoding
from secateur.encodings.named import encoding_of
from secateur.errors import ConfigurationError, MissingExtraError
from secateur.objectives import Objective
from secateur.search.acquisitions import expected_improvement, predicted_mean, thompson
from secateur.search.base import without_sizes
from secateur.search.ehvi import expected_gain
from secateur.search.model import Acquisition, ModelSearcher
from secateur.search.pools import Pool
from secateur.spaces.base import Space


@dataclass(frozen=True)
class ModelBased:
    """A predictor by name on the first of `encodings` that serves the space; `acquisition` is for one objective, and several
    are searched by their expected hypervolume improvement. Stands in the catalogue where others have a class.
    """

    name: str
    predictor: str
    encodings: tuple[str, ...]
    acquisition: Acquisition = expected_improvement
    #: What the pool of candidates, and the searcher, get beyond that.
    pool: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    #: With vectors longer than this, nothing is learnt from a few hundred observations.
    most_dimensions: ClassVar[int] = 1000

    def encoded(self, encoding: str) -> ModelBased:
        """The same on another encoding, by name or by the folder of a trained one. Raises UnknownNameError."""
        check_encoding(encoding)
        return replace(self, name=f"{self.name}:{encoding}", encodings=(encoding,))

    def refuses(self, space: Space, objectives: Sequence[Objective]) -> str | None:
        """Why it cannot serve the space and objectives, or None where it can."""
        chosen, reasons = self._encoding(space)
        if chosen is None:
            return f"`{self.name}` cannot search `{space.name}`: {reasons}"
        if chosen.dimensions > self.most_dimensions:
            return (
                f"`{self.name}` needs vectors of at most {self.most_dimensions} numbers, `{chosen.name}` has "
                f"{chosen.dimensions} in `{space.name}` here: too many to learn from. Use `random`, `local` or `mo-rea`."
            )
        reason: str | None = find("predictor", self.predictor).refuses(chosen)
        return reason

    def sizes(self, trials: int, population: int | None = None, sample: int | None = None) -> dict[str, int]:
        """None: it has no population. Raises ConfigurationError where one is given."""
        return without_sizes(self.name, population, sample)

    def __call__(self, space: Space, objectives: Sequence[Objective], *base: Any, **more: Any) -> ModelSearcher:
        """A new searcher. Raises ConfigurationError where it cannot serve the space."""
        reason = self.refuses(space, objectives) if objectives else f"`{self.name}` needs at least one objective, got none."
        if reason:
            raise ConfigurationError(reason)
        several = len(objectives) > 1
        if several:
            _check_botorch()
        given = {
            "predictor": find("predictor", self.predictor)(),
            "acquisition": expected_gain if several else self.acquisition,
            "encoding": self._encoding(space)[0],
            "pool": Pool(space, **self.pool),
        }
        searcher = ModelSearcher(space, objectives, *base, **{**given, **self.options, **more})
        searcher.name = self.name
        return searcher

    def _encoding(self, space: Space) -> tuple[Encoding | None, str]:
        """The first encoding that serves the space, or None and why the last does not."""
        reason = ""
        for name in self.encodings:
            reason = find_encoding(name).refuses(space)
            if not reason:
                return encoding_of(space, name), ""
        return None, reason


def _check_botorch() -> None:
    """A missing library is said now, not after the first evaluations."""
    try:
        import secateur.search.hypervolume_improvement  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("secateur"):
            raise
        raise MissingExtraError("botorch", "bo") from error


#: A space of at most so many points is scored whole where a predictor is quick.
WHOLE = {"enumerable": 20_000}
BO_GP = ModelBased("bo-gp", "gp", ("adjacency", "vector"), pool=WHOLE)
BO_DNGO = ModelBased("bo-dngo", "dngo", ("adjacency", "vector"), pool=WHOLE)
#: arch2vec-BO and CATE-DNGO, where the encoding is theirs: five for each model (Yan 2022, chapters 3 and 4).
DNGO = ModelBased("dngo", "dngo", ("adjacency", "vector"), pool=WHOLE, options={"refit": 5})
#: CATE-DNGO-LS, where the encoding is CATE's (Yan 2022, chapter 4).
DNGO_LS = ModelBased("dngo-ls", "dngo", ("adjacency", "vector"), predicted_mean, pool=WHOLE, options={"refit": 5, "around": 5})
#: White et al. (2021): mutations of the best, ten of which are tried for each ensemble.
BANANAS = ModelBased(
    "bananas",
    "mlp",
    ("path", "path-truncated", "vector"),
    thompson,
    pool={"enumerable": 0, "draws": 0, "children": 200, "crossed": 0.0, "parents": 10, "refined": 0},
    options={"refit": 10},
)
BO_GCN = ModelBased("bo-gcn", "gcn", ("graph",), pool=WHOLE, options={"refit": 10})
