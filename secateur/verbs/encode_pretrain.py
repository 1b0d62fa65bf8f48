"""`secateur encode pretrain`: an encoding learnt from the architectures of a space."""

from __future__ import annotations

from typing import Annotated

import typer

from secateur.catalogue import listed, names
from secateur.runs.encode.pretraining import Pretrained, pretrain
from secateur.runs.encode.settings import PretrainSettings
from secateur.runs.progress import Progress
from secateur.verbs.completion import among
from secateur.verbs.signature import Shown, takes, tells

#: Cells, and what is a row of choices.
SPACES = (*names("space", "bench"), "small", "medium", "decoder")
SpaceName = Annotated[
    str,
    typer.Argument(
        help=f"{listed('space', 'bench')}; with --method cate also small, medium (with --space-option shape=6,12,1536, the "
        "layers, heads and units of the model) and decoder.",
        autocompletion=among(SPACES),
    ),
]


@tells
@takes(PretrainSettings)
def encode_pretrain(settings: PretrainSettings, space: SpaceName, *, progress: Shown = True) -> Pretrained:
    """Learn an encoding of the architectures of a space, without training any network of it, and keep it with a card.

    Searchers and predictors take it by its folder: --searcher bananas:FOLDER, --encoding FOLDER.

    Raises ConfigurationError for settings out of range, too few cells and a GPU that is not there, StudyError for a folder of
    another training.
    """
    return pretrain(space, settings, Progress(progress))
