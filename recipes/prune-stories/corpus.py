"""Stories that stories15M tells: the text it is pruned on, since what it was trained on is not at hand.

    python corpus.py MODEL FOLDER [--shards 40 2 4] [--seed 0]

Each story begins with the token that begins a text, is sampled at temperature 1 from the unpruned model, and ends where the
model ends it or at its context of 256 tokens. Written in shards of 64, train, validation and test, a JSON object per story; a
shard that is there is not written again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

SPLITS = ("train", "validation", "test")
STORIES = 64


def told(model: Any, tokenizer: Any, count: int) -> list[str]:
    """So many stories, by torch's generator."""
    import torch

    begin = tokenizer.bos_token_id
    ends = {begin, tokenizer.eos_token_id}
    given = torch.full((count, 1), begin)
    tokens = model.generate(
        given,
        attention_mask=torch.ones_like(given),
        do_sample=True,
        temperature=1.0,
        top_k=0,
        max_length=model.config.max_position_embeddings,
        eos_token_id=sorted(ends),
        pad_token_id=begin,
    )
    found = []
    for row in tokens[:, 1:].tolist():
        length = next((place for place, token in enumerate(row) if token in ends), len(row))
        found.append(tokenizer.decode(row[:length]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, nargs=3, default=(40, 2, 4), help="of train, validation and test")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    import torch
    from transformers import AutoModelForCausalLM

    from secateur.checkpoints.tokenizers import tokenizer_of
    from secateur.rng import generator
    from secateur.writing import write_whole

    model, tokenizer = AutoModelForCausalLM.from_pretrained(args.model).eval(), tokenizer_of(str(args.model))
    args.folder.mkdir(parents=True, exist_ok=True)
    for split, shards in reversed(list(zip(SPLITS, args.shards, strict=True))):
        for shard in range(shards):
            path = args.folder / f"{split}-{shard:05}-of-{shards:05}.jsonl"
            if path.exists():
                continue
            torch.manual_seed(int(generator(args.seed, split, shard).integers(2**31)))
            write_whole("".join(json.dumps({"text": text}) + "\n" for text in told(model, tokenizer, STORIES)), path)
            print(path, flush=True)


if __name__ == "__main__":
    main()
