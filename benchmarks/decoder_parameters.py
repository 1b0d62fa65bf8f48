"""Seconds to draw 100,000 decoder architectures and count their decoder parameters, in the array form.

Beside it: counting one architecture at a time ÷ the array form, per architecture. Target: at most 1 s. The two ways must agree.
"""

from __future__ import annotations

import statistics

from measuring import Report, arguments, by_turns, spread_of

from secateur.rng import generator
from secateur.spaces import decoder_counts
from secateur.spaces.decoder import Decoder

TARGET = 1.0


def main() -> None:
    given = arguments(__doc__ or "")
    many, few, repeats = (10_000, 200, 2) if given.quick else (100_000, 5_000, 7)
    report = Report(given.quick)
    for backbone in ("gpt2", "transformer_xl"):
        space = Decoder(backbone, factor=(1, 2, 4))

        def in_arrays(space: Decoder = space) -> None:
            space.decoder_parameters(space.sample_values(many, generator(given.seed)))

        def one_by_one(space: Decoder = space) -> None:
            for architecture in space.sample_many(few, generator(given.seed)):
                decoder_counts.decoder_parameters(architecture)

        values = space.sample_values(few, generator(given.seed))
        singly = [decoder_counts.decoder_parameters(space.from_values(v)) for v in values]
        assert space.decoder_parameters(values).tolist() == singly, "the two ways of counting differ"
        arrays, single = by_turns([in_arrays, one_by_one], repeats)
        low, high = spread_of(arrays)
        taken = statistics.median(arrays)
        print(f"{backbone}: {many} in {taken:.3f} s, {low:.3f} to {high:.3f}", flush=True)
        report.add(f"{many:,} decoders drawn and counted ÷ 1 s, {backbone}", taken, TARGET, lowest=low, highest=high)
        ratio = (statistics.median(single) / few) / (taken / many)
        report.add(f"decoders counted one by one ÷ in arrays, {backbone}", ratio, None, architectures=few)
    report.end()


if __name__ == "__main__":
    main()
