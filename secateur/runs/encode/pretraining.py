"""`secateur encode pretrain`: an encoding is learnt from the cells of a space, and kept in a folder with a card."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secateur import __version__
from secateur.catalogue import find, names
from secateur.encodings.learned import Trained
from secateur.encodings.learned.figures import told
from secateur.encodings.learned.supervised_settings import SupervisedSettings
from secateur.encodings.learned.trained import CARD, STATE, WEIGHTS
from secateur.encodings.sequence import as_graphs
from secateur.errors import ConfigurationError, Stopped, StudyError
from secateur.report.plain import plain
from secateur.runs.encode.judged import judged
from secateur.runs.encode.material import cells_of, named_space, split
from secateur.runs.encode.settings import PretrainSettings
from secateur.runs.progress import Progress
from secateur.writing import check_writable, open_weights, write_whole


@dataclass(frozen=True)
class Pretrained:
    """A trained encoding: its folder, and what its card says."""

    folder: Path
    card: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return {"folder": self.folder, **self.card}

    def __str__(self) -> str:
        card, figures = self.card, self.card["figures"]
        said = ", ".join(told(name, value) for name, value in figures.items())
        folder = self.folder if "/" in str(self.folder) else f"./{self.folder}"
        counted = "cells" if card["space"] in names("space", "bench") else "architectures"
        return (
            f"{card['method']} of {card['space']}: {card['trained_on']:,} {counted}, {len(card['losses'])} epochs, "
            f"{card['seconds']:.0f} s.\n{said}\nUse it by its folder: --encoding {folder}, --searcher bananas:{folder}"
        )


def pretrain(space: str, settings: PretrainSettings, progress: Progress) -> Pretrained:
    """Learn an encoding of a space's cells; what the folder has of the same training is not done again.

    Raises ConfigurationError for settings out of range, too few cells and a GPU that is not there, StudyError for a folder of
    another training, Stopped on Ctrl-C.
    """
    s = settings.check()
    from secateur.devices.device import resolve_device

    searched, options = named_space(space, s.space_option or ())
    encoding = as_graphs(searched)
    kind, own = find("learner", s.method), s.own
    if encoding.shape.ordered and not kind.sequences:
        raise ConfigurationError(f"`{s.method}` learns from cells, and the space `{space}` has none. Use --method cate.")
    asked = {"method": s.method, "space": space, "options": options, "settings": own.as_dict()}
    asked |= {"seed": s.seed, "cells": s.cells}
    said = json.dumps(plain(asked), sort_keys=True)
    if (s.to / CARD).exists():
        card = Trained(s.to).card
        # settings that came later than the card have their defaults
        known = {**card, "settings": find("learning", card["method"])(**card["settings"]).as_dict()}
        if json.dumps({name: known.get(name) for name in asked}, sort_keys=True) != said:
            raise StudyError(f"`{s.to}` holds an encoding that was trained in another way. Give another folder, or remove it.")
        return Pretrained(s.to, card)
    device = resolve_device(s.device)
    check_writable(s.to)
    if isinstance(own, SupervisedSettings):
        cells, target = judged(searched, own, s.cells, s.seed)
    else:
        cells, target = cells_of(searched, s.cells, s.seed, kind.priced), None
    train, held_out = split(cells, own.held_out, s.seed)
    model = kind(encoding.shape._replace(cells=1), own, s.seed, device)
    began = time.monotonic()
    try:
        with progress.bar("training") as advance:
            losses = model.train(train, s.to / STATE, said, advance)
    except KeyboardInterrupt:
        raise Stopped(f"stopped. The epochs that were done are in `{s.to}`: give the same command again to go on.") from None
    seconds = time.monotonic() - began
    figures = model.figures(train, held_out, searched)
    card = {**asked, "nodes": encoding.nodes, "operations": list(encoding.names), "trained_on": len(train)}
    card |= {"tested_on": len(held_out), "losses": losses, "figures": figures, "seconds": seconds}
    card |= {"device": str(device), "secateur": __version__} | ({"target": target} if target else {})
    model.save(s.to / WEIGHTS)
    open_weights(s.to)
    write_whole(json.dumps(plain(card), indent=1, ensure_ascii=False) + "\n", s.to / CARD)
    (s.to / STATE).unlink()
    return Pretrained(s.to, card)
