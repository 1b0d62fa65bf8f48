"""`secateur encode show`: one page about a trained encoding, and its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from secateur.encodings import Encoding
from secateur.encodings.learned import Trained
from secateur.errors import ConfigurationError, StudyError
from secateur.paths import reason
from secateur.report.encoding_data import EncodingData, Map, Samples, Walk
from secateur.report.encoding_page import encoding_html
from secateur.rng import generator
from secateur.runs.encode.decoding import complete, samples
from secateur.runs.encode.material import made_space
from secateur.runs.encode.population import Population, measure_of, of_space, of_table
from secateur.runs.encode.projection import projected
from secateur.runs.encode.show_settings import ShowSettings
from secateur.runs.encode.walks import distance_of, edits_of, mutation_walk, nearest_walk, nearness, random_pairs
from secateur.spaces.cells import CellSpace
from secateur.tables.opening import open_table
from secateur.writing import write_whole

#: The page in the encoding's folder.
PAGE = "show.html"
#: Architectures on the map, steps of the walk through neighbours, steps of the random walk, and random pairs.
MAPPED, STEPS, WALKED, PAIRS = 5_000, 15, 1_000, 20_000
#: Cells that say how latent numbers lie.
CODED = 5_000


@dataclass(frozen=True)
class Shown:
    """A page about a trained encoding, and what it shows."""

    page: Path
    found: EncodingData

    def as_dict(self) -> dict[str, Any]:
        """The page's numbers; None for what does not exist for this space or method."""
        found, measure, walk = self.found, self.found.measure, self.found.walk
        said: dict[str, Any] = {"page": self.page, "method": found.card["method"], "space": found.space.name}
        said |= {"table": measure and measure.table, "metric": measure and measure.name, "budget": measure and measure.budget}
        said |= {"architectures": found.total, "embedded": found.among, "mapped": len(found.map.architectures)}
        said |= {"projection": found.map.projection, "walk_edits": walk and list(walk.edits), "walk_mean": walk and walk.mean}
        said |= {"walk_values": walk and walk.values.tolist(), "random_mean": walk and walk.random}
        said |= {"spearman": found.nearness and found.nearness.spearman}
        said |= {"distances": found.nearness and [vars(box) for box in found.nearness.boxes]}
        drawn = found.samples
        return said | {"draws": drawn and drawn.draws, "valid": drawn and drawn.valid, "different": drawn and drawn.different}

    def __str__(self) -> str:
        found, lines = self.found, []
        if found.walk is not None:
            lines.append(f"a step to the nearest: {found.walk.mean:.2f} edits; random pairs: {found.walk.random:.2f}")
        if found.nearness is not None and found.nearness.spearman is not None:
            lines.append(f"Spearman of latent and edit distance: {found.nearness.spearman:.3f}")
        return "\n".join([*lines, f"Page: {self.page}"])


def show(folder: Path, settings: ShowSettings) -> Shown:
    """Write the page about the trained encoding in a folder.

    Raises StudyError for a folder without one and a page that cannot be written, ConfigurationError where it cannot serve the
    table, UnknownNameError and DataError for a table, metric or budget that is not there, MissingExtraError.
    """
    s = settings.check()
    trained = Trained(folder)
    card = trained.card
    if s.table is not None:
        table = open_table(s.table)
        encoding = trained(table.space)
        population = of_table(table, measure_of(table, s.metric, s.budget), encoding, s.seed)
    else:
        space = made_space(card["space"], card["options"])
        encoding = trained(space)
        population = of_space(space, encoding, s.seed)
    if len(population.architectures) < 2:
        raise ConfigurationError(f"there is only one architecture to show of `{population.space.name}`: give more.")
    found = looked_at(trained.name, card, population, encoding, s)
    page = s.to or trained.folder / PAGE
    try:
        write_whole(encoding_html(found), page)
    except OSError as error:
        hint = " Name a file elsewhere with --to." if s.to is None else ""
        raise StudyError(f"`{page}` cannot be written: {reason(error)}.{hint}") from error
    if s.open:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    return Shown(page, found)


def looked_at(name: str, card: dict[str, Any], population: Population, encoding: Encoding, s: ShowSettings) -> EncodingData:
    """All that a page shows of an encoding."""
    people, vectors = population.architectures, population.vectors
    walked = nearest_walk(vectors, 0, STEPS)
    rest = np.setdiff1d(np.arange(min(len(people), MAPPED + len(walked))), walked)
    mapped = [*walked, *rest.tolist()][:MAPPED]
    places = projected(vectors[mapped], s.projection, s.seed)
    plane = Map([people[i] for i in mapped], places, population.values[mapped], s.projection, range(len(walked)))
    distance = distance_of(population.space)
    walk = near = None
    if distance is not None:
        ways = np.stack([walked[:-1], walked[1:]], axis=1)
        pairs = random_pairs(len(people), WALKED, generator(s.seed, "pairs"))
        edits = edits_of(distance, people, ways).tolist()
        mean = float(edits_of(distance, people, pairs).mean())
        walk = Walk([people[i] for i in walked], population.values[walked], edits, mean)
        steps = mutation_walk(population.space, WALKED, generator(s.seed, "walk"))
        near = nearness(distance, steps, encoding.encode(steps), PAIRS, generator(s.seed, "random pairs"))
    return EncodingData(
        name=name,
        card=card,
        space=population.space,
        dimensions=encoding.dimensions,
        total=population.total,
        among=len(people),
        measure=population.measure,
        map=plane,
        walk=walk,
        nearness=near,
        samples=_samples(population, encoding, s.seed),
    )


def _samples(population: Population, encoding: Encoding, seed: int) -> Samples | None:
    """What is decoded; None where the method cannot, or where no two cells are as large as what it decodes."""
    codec, space = getattr(encoding, "model", None), population.space
    if not hasattr(codec, "decode") or not isinstance(space, CellSpace):
        return None
    some = population.architectures[:CODED]
    whole = [place for place, one in enumerate(some) if complete(space, one)]
    if len(whole) < 2:
        return None
    assert codec is not None
    return samples(codec, space, some, (whole[0], whole[1]), population.values_of, seed)
