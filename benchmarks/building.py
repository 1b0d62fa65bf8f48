"""Building a network to measure ÷ an ordinary random initialisation of the same network.

Target: at most 0.15, for networks of the paper's space. The first network of a builder also fills the buffer; that cost is
shown beside it, as it is paid once a search.
"""

from __future__ import annotations

import statistics

from measuring import Report, arguments, by_turns, seconds, spread_of

from secateur import decoders
from secateur.architecture import Architecture
from secateur.spaces.decoder import architecture

VOCABULARY = 267_735


def candidates(quick: bool) -> dict[str, Architecture]:
    if quick:
        return {name: architecture(name, 16, [2, 4], [32, 48], 8, 4) for name in ("gpt2", "transformer_xl")}
    mixed = [(2, 4, 8)[i % 3] for i in range(16)]
    found = {}
    for backbone in ("gpt2", "transformer_xl"):
        for width, embedding in ((512, 128), (768, 256), (1024, 512)):
            inner = [2 * width + 64 * i for i in range(16)]
            found[f"{backbone}, 16 × {width}"] = architecture(backbone, width, mixed, inner, embedding, 4)
        found[f"{backbone}, 4 × 256"] = architecture(backbone, 256, mixed[:4], [512, 1024, 768, 640], 128, 4)
    return found


def main() -> None:
    given = arguments(__doc__ or "")
    sizes = decoders.Sizes(vocabulary=60 if given.quick else VOCABULARY)
    repeats = 2 if given.quick else 5
    report = Report(given.quick)
    builder = decoders.Builder(sizes, seed=given.seed)
    chosen = candidates(given.quick)
    largest = max(chosen.values(), key=lambda arch: (arch["width"], arch["inner"]))
    filling = seconds(lambda: builder(largest))
    print(f"first network of a builder, which fills the buffer: {filling:.2f} s", flush=True)
    for name, arch in chosen.items():

        def to_measure(arch: Architecture = arch) -> object:
            return builder(arch)

        def ordinary(arch: Architecture = arch) -> object:
            return decoders.build(arch, sizes, seed=given.seed)

        quick, slow = by_turns([to_measure, ordinary], repeats)
        ratio = statistics.median(quick) / statistics.median(slow)
        low, high = spread_of([a / b for a, b in zip(quick, slow, strict=True)])
        print(f"{name}: {ratio:.4f} ({statistics.median(quick) * 1e3:.1f} ms, {statistics.median(slow):.2f} s)", flush=True)
        report.add(
            f"building to measure ÷ ordinary initialisation, {name}",
            ratio,
            0.15,
            lowest=low,
            highest=high,
            repeats=repeats,
            milliseconds=statistics.median(quick) * 1e3,
            filling_seconds=filling,
        )
    report.end()


if __name__ == "__main__":
    main()
