"""`secateur encode show`: one page about a trained encoding."""

from __future__ import annotations

from secateur.runs.encode.show_settings import ShowSettings
from secateur.runs.encode.showing import Shown, show
from secateur.verbs.encode_embed import EncodingFolder
from secateur.verbs.signature import takes, tells


@tells
@takes(ShowSettings)
def encode_show(settings: ShowSettings, folder: EncodingFolder) -> Shown:
    """Write a page about a trained encoding: a map of the architectures, walks through neighbours, distances, decoded cells.

    It is one HTML file that works offline.

    Raises StudyError for a folder that holds no trained encoding, ConfigurationError where it cannot serve the table,
    UnknownNameError and DataError for a table, metric or budget that is not there.
    """
    return show(folder, settings)
