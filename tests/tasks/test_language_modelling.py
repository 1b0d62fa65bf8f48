from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest

from secateur.errors import ConfigurationError, DataError
from secateur.tasks import language_modelling as lm
from secateur.tasks import load_task, text
from secateur.testing.toy_tokenizer import toy_tokenizer

TEXT = "\n".join("one two three four five" for _ in range(40))


@pytest.fixture
def words():
    return toy_tokenizer([TEXT], pad=False)


def test_blocks(words):
    examples = lm.blocks("one two three four five", words, 2, "f")
    assert [len(ids) for ids in examples.columns["input_ids"]] == [2, 2]  # a last block of one token has nothing to tell
    assert examples.columns["labels"] == examples.columns["input_ids"]
    assert lm.blocks("one two three four five", words, 3, "f").lengths == [3, 2]
    with pytest.raises(DataError, match="has 1 tokens"):
        lm.blocks("one", words, 4, "f")


def test_pieces_make_the_whole(words, monkeypatch: pytest.MonkeyPatch):
    whole = lm.blocks(TEXT, words, 7, "f")
    monkeypatch.setattr(text, "_PIECE", 50)
    assert len(list(text.pieces(TEXT))) > 5
    assert "".join(text.pieces(TEXT)) == TEXT
    assert lm.blocks(TEXT, words, 7, "f").columns == whole.columns


def test_one_text_is_cut_in_order(tmp_path: Path, words):
    path = tmp_path / "play.txt.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    data = load_task(path, words, max_length=4)
    assert (len(data.train), len(data.validation), len(data.test)) == (28, 12, 10)
    assert data.task.kind == "language_modelling"
    assert data.task.name == "play"
    assert data.num_labels is None
    ids = [token for part in (data.train, data.validation, data.test) for e in part for token in e["input_ids"]]
    assert words.decode(ids).split() == TEXT.split()
    assert len(load_task(path, words, max_length=4, max_train=5).train) == 5


@pytest.mark.parametrize(
    ("names", "sizes"),
    [(("train", "valid", "test"), (50, 50, 50)), (("train", "valid"), (35, 15, 50)), (("train", "test"), (35, 15, 50))],
)
def test_folders(tmp_path: Path, words, names: tuple[str, ...], sizes: tuple[int, ...]):
    for name in names:
        (tmp_path / f"{name}.txt").write_text(TEXT)
    data = load_task(tmp_path, words, max_length=4)
    assert (len(data.train), len(data.validation), len(data.test)) == sizes


def test_text_columns_of_a_table(reviews: Path, tokenizer):
    data = load_task(reviews, tokenizer, text="review", kind="language_modelling", max_length=8)
    assert data.task.label is None
    batch = next(data.batches("test", 2))
    assert batch["labels"].shape == batch["input_ids"].shape


def test_bad_text(tmp_path: Path, words):
    path = tmp_path / "a.txt"
    path.write_text("one two")
    with pytest.raises(DataError, match="too little text to split: 1 block"):
        load_task(path, words)
    with pytest.raises(ConfigurationError, match="only language_modelling fits"):
        load_task(path, words, kind="regression")


def test_wikitext(shared: Path, words):
    data = load_task(shared / "wikitext-2" / "valid.txt.gz", words, max_length=64)
    tokens = sum(sum(part.lengths) for part in (data.train, data.validation, data.test))
    assert 205_000 < tokens < 225_000  # 214 thousand words


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_the_score_depends_neither_on_the_batch_nor_on_the_tokenizers_side(tmp_path: Path, family: str):
    """Every token but the first of each block is scored once: −Σ log p of the tokens, block by block without any padding."""
    import torch

    from secateur.estimators.shared_weights import score
    from secateur.testing.models import toy_model

    path = tmp_path / "text.txt"
    path.write_text(" ".join(f"w{(i * i) % 23}" for i in range(150)))
    model = toy_model(family, "causal")
    found = []
    for side in ("left", "right"):
        tokenizer = toy_tokenizer([path.read_text()], pad=False)
        tokenizer.padding_side = side
        data = load_task(path, tokenizer, max_length=16)
        assert len(data.test) > 1
        assert data.test.lengths[-1] < 16, "the last block is shorter"
        for size in (1, 2, len(data.test)):
            batches = list(data.batches("test", size))
            assert sum(int((b["labels"][:, 1:] != -100).sum()) for b in batches) == sum(n - 1 for n in data.test.lengths)
            found.append(score(model, data.task, batches)["perplexity"])
    nll, told = 0.0, 0
    for ids in data.test.columns["input_ids"]:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
        nll -= sum(float(row[token]) for row, token in zip(logits, ids[1:], strict=True))
        told += len(ids) - 1
    assert found == pytest.approx([math.exp(nll / told)] * len(found), rel=1e-5)
