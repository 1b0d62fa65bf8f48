"""All depths from one pass ÷ the deepest network alone.

Target: at most 1.15 for the whole network's width. Narrow networks are shown beside it: their layers cost less, the heads
of all depths the same.
"""

from __future__ import annotations

import statistics
from typing import Any

import torch
from measuring import FULL, QUICK, Report, arguments, by_turns, network, spread_of, tokens

from secateur.spaces.pruning import Plan
from secateur.supernet import sweep


def main() -> None:
    given = arguments(__doc__ or "")
    size = QUICK if given.quick else FULL
    repeats = 2 if given.quick else 15
    supernet = network(size, given.seed)
    batch = {name: value for name, value in tokens(size, given.seed).items() if name != "labels"}
    report = Report(given.quick)
    for parts in (1, 2, 4):
        plan = Plan.uniform(size.layers, size.heads // parts, size.units // parts)

        def alone(plan: Plan = plan) -> Any:
            with supernet.select(plan) as model:
                return model(**batch)

        def all_depths(plan: Plan = plan) -> dict[int, Any]:
            return sweep(supernet, plan, range(size.layers), batch)

        with torch.inference_mode():
            found = all_depths()
            for depth, output in found.items():
                with supernet.select(Plan.uniform(depth, size.heads // parts, size.units // parts)) as model:
                    assert torch.allclose(output.logits, model(**batch).logits, atol=1e-5), f"depth {depth} differs"
            swept, deepest = by_turns([all_depths, alone], repeats)
        ratio = statistics.median(swept) / statistics.median(deepest)
        low, high = spread_of([a / b for a, b in zip(swept, deepest, strict=True)])
        width = "whole width" if parts == 1 else f"1/{parts} of the width"
        print(f"{width}: {ratio:.3f} ({statistics.median(deepest) * 1e3:.1f} ms for the deepest alone)", flush=True)
        report.add(
            f"all depths from one pass ÷ the deepest alone, {width}",
            ratio,
            1.15 if parts == 1 else None,
            lowest=low,
            highest=high,
            depths=len(found),
            repeats=repeats,
        )
    report.end()


if __name__ == "__main__":
    main()
