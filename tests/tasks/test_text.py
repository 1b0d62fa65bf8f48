"""Text, tokenizers and windows for training from scratch."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secateur.errors import ConfigurationError, DataError
from secateur.tasks import tokenizers
from secateur.tasks.segments import IGNORED, Streams, Windows, collate, scored
from secateur.tasks.text import encode, load_text, token_ids
from secateur.tasks.tokenizers import END, check_fits, train_tokenizer

LINES = "".join(f"line {i}: the cat sat on the mat\n" for i in range(200))


class TestLoadText:
    def test_a_folder_of_splits(self, tmp_path: Path) -> None:
        for name, said in (("train", "one"), ("valid", "two"), ("test", "drei ü")):
            (tmp_path / f"{name}.txt.gz").write_bytes(gzip.compress(said.encode()))
        found = load_text(tmp_path)
        assert (found.train, found.validation, found.test) == ("one", "two", "drei ü")
        (tmp_path / "test.txt.gz").unlink()
        assert load_text(tmp_path).test is None

    @pytest.mark.parametrize("name", ["book.txt", "notes.md", "book"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    def test_one_file_is_cut_at_its_lines(self, tmp_path: Path, name: str, encoding: str) -> None:
        (tmp_path / name).write_bytes(LINES.encode(encoding))
        found = load_text(tmp_path / name, validation_share=0.2, test_share=0.1)
        assert found.test is not None
        assert found.train + found.validation + found.test == LINES
        assert all(part.startswith("line ") and part.endswith("mat\n") for part in (found.train, found.validation, found.test))
        assert abs(len(found.validation) / len(LINES) - 0.2) < 0.02

    def test_a_file_without_lines_is_cut_between_words(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("word " * 100)
        found = load_text(tmp_path / "a.txt")
        assert found.train.endswith("word ")
        (tmp_path / "b.txt").write_text("x" * 1000)
        assert [len(part or "") for part in (load_text(tmp_path / "b.txt").train, load_text(tmp_path / "b.txt").test)] == [
            900,
            50,
        ]

    def test_a_training_file_gives_what_is_missing(self, tmp_path: Path) -> None:
        (tmp_path / "train.txt").write_text(LINES)
        alone = load_text(tmp_path)
        assert alone.train + alone.validation + (alone.test or "") == LINES
        (tmp_path / "test.txt").write_text("the test")
        beside = load_text(tmp_path)
        assert beside.test == "the test"
        assert beside.train + beside.validation == LINES

    def test_what_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="does not exist"):
            load_text(tmp_path / "nowhere.txt")
        file = tmp_path / "a.txt"
        for data, said in (
            (b"", "is empty"),
            (b" \n\n ", "is empty"),
            ("Ünder".encode("latin1"), r"is neither UTF-8 nor UTF-16.*invalid.*at byte 0"),
            (b"pl\0ai\0n", "is neither UTF-8 nor UTF-16.*zero bytes"),
            (b"\xff\xfea", "is neither UTF-8 nor UTF-16"),
            (b"ab", "too few to split"),
        ):
            file.write_bytes(data)
            with pytest.raises(DataError, match=said):
                load_text(file)
        (tmp_path / "b.txt.gz").write_bytes(b"no zip")
        with pytest.raises(DataError, match=r"is not a valid \.gz file"):
            load_text(tmp_path / "b.txt.gz")
        with pytest.raises(ConfigurationError, match="leave nothing to train on"):
            load_text(file, validation_share=0.6, test_share=0.5)
        with pytest.raises(ConfigurationError, match="between 0 and 1, got 0"):
            load_text(file, validation_share=0)
        (tmp_path / "tables").mkdir()
        (tmp_path / "tables" / "train.csv").write_text("a,b\n1,2\n")
        with pytest.raises(DataError, match="is a table"):
            load_text(tmp_path / "tables")


class TestTokenizers:
    def test_trained_on_a_text(self) -> None:
        made = train_tokenizer(LINES, 280)
        assert len(made) == 280
        assert made.convert_tokens_to_ids(END) == 0 == made.eos_token_id
        ids = token_ids(LINES + "ünknown 字", made)
        assert ids.dtype == np.int32
        assert made.decode(ids) == LINES + "ünknown 字"
        assert made.get_vocab() == train_tokenizer([LINES], 280).get_vocab()

    def test_ids_are_sorted_by_count(self) -> None:
        made = train_tokenizer(LINES + END, 280)
        counts = np.bincount(token_ids(LINES, made), minlength=280)
        assert made.convert_tokens_to_ids(END) == 0 == counts[0]
        assert (np.diff(counts[1:]) <= 0).all()
        assert 2 < (counts[1:] == 0).sum() < 278  # most bytes never occur
        assert token_ids(LINES, made).max() < (counts > 0).sum() + 1

    def test_numbering_changes_no_piece(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = train_tokenizer(LINES, 280)
        monkeypatch.setattr(tokenizers, "_by_frequency", lambda tokenizer, texts: tokenizer)
        before = train_tokenizer(LINES, 280)
        said = LINES + "the ünseen mat, lines of " + END + "cats\n\n  sat"
        assert made.tokenize(said) == before.tokenize(said)
        assert set(made.get_vocab()) == set(before.get_vocab())
        assert made.get_vocab() != before.get_vocab()
        # Among equally frequent tokens the old order stays.
        never = [w for w, i in sorted(made.get_vocab().items(), key=lambda pair: pair[1])][-100:]
        assert never == sorted(never, key=before.get_vocab().__getitem__)

    def test_several_texts_may_come_one_by_one(self) -> None:
        halves = [LINES[: len(LINES) // 2], LINES[len(LINES) // 2 :]]
        assert train_tokenizer(iter(halves), 270).get_vocab() == train_tokenizer(halves, 270).get_vocab()

    def test_a_small_text_gives_fewer_tokens(self) -> None:
        assert 257 < len(train_tokenizer("abc abc", 2000)) < 265
        with pytest.raises(ConfigurationError, match="at least 257"):
            train_tokenizer(LINES, 256)

    def test_one_that_does_not_fit_is_refused(self) -> None:
        made = train_tokenizer(LINES, 280)
        check_fits(made, 280)
        with pytest.raises(ConfigurationError, match="has 280 tokens, but `vocabulary` is only 279"):
            check_fits(made, 279)


def test_a_split_shorter_than_a_block(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    words = train_tokenizer(LINES, 280)
    text = load_text(tmp_path / "a.txt")
    assert len(encode(text, words, length=8).train) > 1000
    with pytest.raises(DataError, match=r"the validation text of .* fewer than one block of 500"):
        encode(text, words, length=500)


sizes = st.tuples(st.integers(2, 200), st.integers(2, 12), st.integers(1, 6))


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_every_token_is_told_once(size: tuple[int, int, int]) -> None:
    count, length, rows = size
    tokens = np.arange(count, dtype=np.int32)
    for in_order in (False, True):
        batches = list(scored(tokens, length, rows, in_order=in_order))
        told = np.concatenate([labels[:, 1:].ravel() for _, labels in batches])
        assert sorted(told[told != IGNORED].tolist()) == list(range(1, count))
        assert all(ids.shape == labels.shape and ids.shape[0] <= rows for ids, labels in batches)
        if in_order:  # rows go on where they were; those that end first are the last ones
            for (_, before), (after, _) in itertools.pairwise(batches):
                assert (before[: len(after), -1] == after[:, 0]).all()


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_windows_and_streams(size: tuple[int, int, int]) -> None:
    count, length, rows = size
    tokens = np.arange(count, dtype=np.int32)
    if count < length:
        with pytest.raises(DataError, match="too few for 1 rows"):
            Windows(tokens, length)
        return
    windows = Windows(tokens, length)
    assert all(len(windows[i]) == length for i in range(len(windows)))
    assert [w[0] for w in map(windows.__getitem__, range(len(windows)))] == list(range(0, count - length + 1, length - 1))
    if (count - 1) // rows < length - 1:
        with pytest.raises(DataError, match=f"too few for {rows} rows"):
            Streams(tokens, length, rows)
        return
    streams = Streams(tokens, length, rows)
    for index in range(rows, len(streams)):
        assert streams[index][0] == streams[index - rows][-1]
    assert collate([streams[0]])["input_ids"].shape == (1, length)


def test_a_window_of_one_token_tells_nothing() -> None:
    with pytest.raises(DataError, match="at least 2 tokens"):
        Windows(np.arange(9, dtype=np.int32), 1)


def test_a_text_without_a_next_token() -> None:
    for count in (0, 1):
        with pytest.raises(DataError, match=f"has {count} tokens: at least two"):
            next(scored(np.arange(count, dtype=np.int32), 4, 2, in_order=False))
    with pytest.raises(DataError, match="at least 2 tokens, got 1"):
        next(scored(np.arange(9, dtype=np.int32), 1, 2, in_order=True))
