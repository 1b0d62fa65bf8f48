"""The counts that a table gives, checked against those of its architectures."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from secateur.runs.bench.material import Material
from secateur.spaces import decoder_counts
from secateur.tables import Table


def count_notes(table: Table, sources: Collection[str], material: Material, names: Collection[str]) -> list[str]:
    """What a reader must know of the columns `parameters` and `decoder_parameters`, in the table's rows of these sources.

    `names`: the proxies that are scored. Rows are numbered as in the file, from 1.
    """
    chosen = np.isin(table.source, list(sources)) & np.array([a.space == "decoder" for a in table.architectures])
    said = []
    for name in ("parameters", "decoder_parameters"):
        given = table.column(name)
        rows = np.flatnonzero(chosen & np.isfinite(given)).tolist()
        whole = name == "parameters"
        if whole and material.vocabulary is None:
            if rows and name in names:
                said.append("`parameters` are the table's own, unchecked: they cannot be counted without --vocabulary.")
            continue
        count = material.parameters if whole else decoder_counts.decoder_parameters
        differing = [(row, n) for row in rows if (n := count(table.architectures[row])) != given[row]]
        if differing:
            row, counted = differing[0]
            sizes = f" (vocabulary {material.vocabulary:,}, {material.positions:,} positions)" if whole else ""
            said.append(
                f"`{name}` differs from the architecture's in {len(differing)} of {len(rows)} rows, first in row {row + 1}: "
                f"{given[row]:,.15g} in the table, {counted:,} counted{sizes}. The counted ones are used."
            )
    return said
