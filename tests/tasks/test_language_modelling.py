from __future__ import annotations

import gzip
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from secateur.errors import ConfigurationError, DataError
from secateur.tasks import language_modelling as lm
from secateur.tasks import load_task, text
from secateur.testing.toy_tokenizer import toy_tokenizer

TEXT = "\n".join("one two three four five" for _ in range(40))


@pytest.fixture
def words():
    return toy_tokenizer([TEXT], pad=False)


def test_blocks_tell_every_token_but_the_first_once(words):
    """Each begins with the last token of the one before."""
    examples = lm.blocks(["one two three four five"], words, 3, "f")
    ids = words("one two three four five")["input_ids"]
    assert examples.columns["input_ids"] == [ids[:3], ids[2:]]
    assert examples.columns["labels"] == examples.columns["input_ids"]
    for length in (2, 3, 4, 5, 9):
        found = lm.blocks(["one two three four five"], words, length, "f").columns["input_ids"]
        assert [ids[0], *(token for block in found for token in block[1:])] == ids
    with pytest.raises(DataError, match="has 1 tokens"):
        lm.blocks(["one"], words, 4, "f")


def test_documents_are_packed_with_a_separator_between(words):
    """No padding anywhere: the ends of documents lie inside of blocks."""
    words.add_special_tokens({"bos_token": "[CLS]"})
    one, two, three = (words(text)["input_ids"] for text in ("one two", "three", "four five one"))
    texts = ["one two", "three", "four five one"]
    for separator, token in ((None, words.eos_token_id), ("eos", words.eos_token_id), ("bos", words.bos_token_id)):
        assert lm.packed(texts, words, separator).tolist() == [*one, token, *two, token, *three]
    assert lm.packed(texts, words, "newline").tolist() == words("one two three four five one")["input_ids"]
    assert lm.packed(["one two", " "], words).tolist() == one, "nothing stands after the last, and blank ones are left out"
    assert len(lm.packed([""], words)) == 0
    assert lm.blocks(texts, words, 4, "f").lengths == [4, 4, 2]


def test_what_ends_a_document_in_plain_text(tmp_path: Path, words):
    assert lm.documents("one\ntwo") == ["one\ntwo"]
    assert lm.documents("one\n<|endoftext|>\n two\nthree<|endoftext|>\n") == ["one", " two\nthree"]
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.txt").write_text("one two\n<|endoftext|>\nthree\n" * 2)
    data = load_task(tmp_path, words, max_length=16)
    # the second document is "three one two": what no mark parts is one
    assert words.decode(data.test.columns["input_ids"][0]).split() == [
        "one",
        "two",
        "[SEP]",
        "three",
        "one",
        "two",
        "[SEP]",
        "three",
    ]


def test_a_tokenizer_without_the_separator(words):
    with pytest.raises(ConfigurationError, match="`separator` is bos, but the tokenizer has no such token"):
        lm.packed(["one", "two"], words, "bos")
    words.eos_token = None
    assert lm.packed(["one", "two"], words).tolist() == words("one two")["input_ids"], "a new line, where nothing is asked for"


def test_pieces_make_the_whole(words, monkeypatch: pytest.MonkeyPatch):
    whole = lm.blocks([TEXT], words, 7, "f")
    monkeypatch.setattr(text, "_PIECE", 50)
    assert len(list(text.pieces(TEXT))) > 5
    assert "".join(text.pieces(TEXT)) == TEXT
    assert lm.blocks([TEXT], words, 7, "f").columns == whole.columns


def test_one_text_is_cut_in_order(tmp_path: Path, words):
    path = tmp_path / "play.txt.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    data = load_task(path, words, max_length=4)
    assert (len(data.train), len(data.validation), len(data.test)) == (38, 16, 13)
    assert data.task.kind == "language_modelling"
    assert data.task.name == "play"
    assert data.num_labels is None
    ids = [token for part in (data.train, data.validation, data.test) for e in part for token in e["input_ids"][1:]]
    assert words.decode(ids).split() == TEXT.split()[1:]
    assert len(load_task(path, words, max_length=4, max_train=5).train) == 5


@pytest.mark.parametrize(
    ("names", "sizes"),
    [(("train", "valid", "test"), (67, 67, 67)), (("train", "valid"), (47, 20, 67)), (("train", "test"), (47, 20, 67))],
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
    tokens = sum(length - 1 for part in (data.train, data.validation, data.test) for length in part.lengths)
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


def test_the_perplexity_is_that_of_the_whole_text(tmp_path: Path):
    """Token by token from the logits, by hand; and from transformers' own losses, weighted by their tokens."""
    import torch

    from secateur.estimators.shared_weights import score
    from secateur.testing.models import toy_model

    path = tmp_path / "text.jsonl"
    path.write_text("".join(f'{{"text": "{" ".join(f"w{(i * k) % 19}" for i in range(7 + k))}"}}\n' for k in range(1, 30)))
    tokenizer = toy_tokenizer([path.read_text().replace('"', " ")], pad=False)
    data = load_task(path, tokenizer, kind="language_modelling", text="text", max_length=16)
    model = toy_model("llama", "causal")
    found = score(model, data.task, data.batches("validation", 4))["perplexity"]
    nll, told, weighted = 0.0, 0, 0.0
    blocks = data.validation.columns["input_ids"]
    for before, block in zip([None, *blocks], blocks, strict=False):
        assert before is None or before[-1] == block[0]
        ids = torch.tensor([block])
        with torch.no_grad():
            output = model(input_ids=ids, labels=ids)
        weighted += float(output.loss) * (len(block) - 1)
        logits = output.logits[0].double().numpy()
        for place, token in enumerate(block[1:]):
            row = logits[place]
            nll -= row[token] - math.log(sum(math.exp(value) for value in row))
            told += 1
    assert found == pytest.approx(math.exp(nll / told), rel=1e-5)
    assert found == pytest.approx(math.exp(weighted / told), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "hub", "splits"), [("wikitext-2", "Salesforce/wikitext", 3), ("tinystories", "roneneldan/TinyStories", 2)]
)
def test_texts_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words, name: str, hub: str, splits: int):
    """Rows are lines of one text, or documents; a folder of that name wins over the hub."""
    asked = []

    def load_dataset(where: str, _: str | None, split: str) -> SimpleNamespace:
        asked.append(split)
        assert where == hub
        return SimpleNamespace(to_pandas=lambda: pd.DataFrame({"text": ["one two\n", "", "three\n"] * 20}))

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.chdir(tmp_path)
    data = load_task(name, words, max_length=8)
    assert data.task.kind == "language_modelling"
    documents = words.eos_token_id in data.test.columns["input_ids"][0]
    assert documents == (name == "tinystories"), "lines of running text are no documents"
    assert len(asked) == splits
    monkeypatch.setenv("SECATEUR_DATA", str(tmp_path / "shelf"))
    (tmp_path / "shelf" / name).mkdir(parents=True)
    (tmp_path / "shelf" / name / "train.txt").write_text(TEXT)
    assert load_task(name, words, max_length=8).task.kind == "language_modelling"
    assert len(asked) == splits, "the folder is read, not the hub"
