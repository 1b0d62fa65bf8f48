"""Adaptive embedding and softmax: probabilities, gradients and losses against direct computation and torch's own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from secateur.decoders.adaptive import AdaptiveEmbedding, AdaptiveHead, Vectors, loss_and_logits, predict
from secateur.decoders.gpt2 import DecoderGpt2Config
from secateur.devices.memory import peak_memory

WIDTH, WORDS = 12, 40
CLUSTERS = {
    "one": [(0, WORDS, 6)],
    "one, as wide": [(0, WORDS, WIDTH)],
    "three": [(0, 10, WIDTH), (10, 25, 4), (25, WORDS, 1)],
    "four": [(0, 5, 8), (5, 6, 4), (6, 30, 2), (30, WORDS, 1)],
}


def parts(clusters, tie, seed=0):
    """An embedding and a head with random values in every parameter, biases included."""
    draw = torch.Generator().manual_seed(seed)
    embedding, head = AdaptiveEmbedding(clusters, WIDTH), AdaptiveHead(clusters, WIDTH, tie)
    with torch.no_grad():
        for parameter in [*embedding.parameters(), *head.parameters()]:
            parameter.copy_(torch.randn(parameter.shape, generator=draw) * 0.5)
    return embedding.double(), head.double()


@pytest.mark.parametrize("clusters", CLUSTERS.values(), ids=CLUSTERS)
def test_the_embedding_is_the_row_of_the_words_cluster_projected(clusters):
    embedding, _ = parts(clusters, True)
    ids = torch.randperm(WORDS, generator=torch.Generator().manual_seed(1)).view(4, 10)
    found = embedding(ids)
    assert found.shape == (4, 10, WIDTH)
    for row, column in ((0, 0), (1, 3), (2, 9), (3, 5)):
        word = int(ids[row, column])
        cluster = next(j for j, (start, end, _) in enumerate(clusters) if start <= word < end)
        vector = embedding.tables[cluster].weight[word - clusters[cluster][0]]
        if clusters[cluster][2] != WIDTH:
            vector = embedding.projections[cluster].weight @ vector
        torch.testing.assert_close(found[row, column], vector)


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("clusters", CLUSTERS.values(), ids=CLUSTERS)
def test_probabilities_sum_to_one(clusters, tie):
    embedding, head = parts(clusters, tie)
    hidden = torch.randn(3, 5, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    said = predict(head, embedding, hidden)
    assert said.shape == (3, 5, WORDS)
    if len(clusters) == 1:
        said = said.log_softmax(-1)
    torch.testing.assert_close(said.exp().sum(-1), torch.ones(3, 5, dtype=torch.float64))


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("clusters", CLUSTERS.values(), ids=CLUSTERS)
def test_the_loss_and_its_gradients_are_those_of_the_full_matrix(clusters, tie):
    embedding, head = parts(clusters, tie)
    hidden = torch.randn(3, 7, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(3), requires_grad=True)
    labels = torch.randint(WORDS, (3, 7), generator=torch.Generator().manual_seed(4))
    labels[0, 3] = labels[2, 6] = -100
    everything = [hidden, *embedding.parameters(), *head.parameters()]

    loss, logits = loss_and_logits(head, embedding, hidden, labels)
    assert (logits is None) == (len(clusters) > 1)
    direct = nn.functional.cross_entropy(
        predict(head, embedding, hidden)[:, :-1].reshape(-1, WORDS), labels[:, 1:].reshape(-1), ignore_index=-100
    )
    torch.testing.assert_close(loss, direct)
    for a, b in zip(
        torch.autograd.grad(loss, everything, allow_unused=True),
        torch.autograd.grad(direct, everything, allow_unused=True),
        strict=True,
    ):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b)


def test_the_loss_is_shared_over_the_items_given():
    for clusters in CLUSTERS.values():
        embedding, head = parts(clusters, True)
        hidden = torch.randn(2, 5, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
        labels = torch.randint(WORDS, (2, 5), generator=torch.Generator().manual_seed(6))
        mean, _ = loss_and_logits(head, embedding, hidden, labels)
        shared, _ = loss_and_logits(head, embedding, hidden, labels, items=32)
        torch.testing.assert_close(shared, mean * 8 / 32)


def test_a_cluster_without_a_word_in_the_batch_still_has_gradients():
    embedding, head = parts(CLUSTERS["three"], True)
    hidden = torch.randn(1, 4, WIDTH, dtype=torch.float64)
    loss, _ = loss_and_logits(head, embedding, hidden, torch.tensor([[0, 1, 2, 3]]))
    loss.backward()
    assert torch.isfinite(loss)
    assert all(p.grad is not None for p in [*embedding.parameters(), *head.parameters()])


def test_log_probabilities_are_those_of_torch():
    """torch's adaptive softmax has no biases in its tails, projects every tail, and shares nothing with an embedding."""
    clusters = [(0, 10, WIDTH), (10, 25, WIDTH // 2), (25, WORDS, WIDTH // 4)]
    embedding, head = parts(clusters, True)
    theirs = nn.AdaptiveLogSoftmaxWithLoss(WIDTH, WORDS, [10, 25], div_value=2.0, head_bias=True).double()
    with torch.no_grad():
        head.bias[10:] = 0
        theirs.head.weight.copy_(torch.cat([embedding.tables[0].weight, head.cluster_weight]))
        theirs.head.bias.copy_(torch.cat([head.bias[:10], head.cluster_bias]))
        for cluster, tail in enumerate(theirs.tail, start=1):
            tail[0].weight.copy_(embedding.projections[cluster].weight.t())
            tail[1].weight.copy_(embedding.tables[cluster].weight)
    hidden = torch.randn(9, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
    torch.testing.assert_close(head(hidden, embedding), theirs.log_prob(hidden))
    labels = torch.randint(WORDS, (9,), generator=torch.Generator().manual_seed(8))
    torch.testing.assert_close(head.loss_sum(hidden, labels, embedding) / 9, theirs(hidden, labels).loss)


def test_half_precision_is_normalised_in_float32():
    embedding, head = parts(CLUSTERS["three"], True)
    said = head.bfloat16()(torch.randn(4, WIDTH).bfloat16(), embedding.bfloat16())
    assert said.dtype == torch.float32
    torch.testing.assert_close(said.exp().sum(-1), torch.ones(4), atol=1e-5, rtol=0)


def test_widths_fall_by_the_factor_and_stop_at_one():
    config = DecoderGpt2Config(embedding=16, factor=4, vocab_size=100, cutoffs=(10, 20, 50))
    assert config.clusters == [(0, 10, 16), (10, 20, 4), (20, 50, 1), (50, 100, 1)]
    shapes = [tuple(p.shape) for p in Vectors(config.clusters, 16).parameters()]
    assert shapes == [(10, 16), (10, 4), (30, 1), (50, 1), (16, 4), (16, 1), (16, 1)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("clusters", CLUSTERS.values(), ids=CLUSTERS)
def test_without_gradients_it_says_the_same(clusters, tie, dtype):
    embedding, head = (part.to(dtype) for part in parts(clusters, tie))
    hidden = torch.randn(3, 5, WIDTH, generator=torch.Generator().manual_seed(2)).to(dtype)
    said = predict(head, embedding, hidden)
    for off in (torch.no_grad, torch.inference_mode):
        with off():
            found = predict(head, embedding, hidden)
        assert found.dtype == said.dtype
        torch.testing.assert_close(found, said.detach())


def test_without_gradients_parts_and_whole_are_not_there_at_once():
    words, states = 10_000, 8
    clusters = [(0, 2_000, 8), (2_000, 5_000, 4), (5_000, words, 2)]

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = AdaptiveEmbedding(clusters, 8), AdaptiveHead(clusters, 8, tie=True)

        def forward(self, hidden):
            return predict(self.head, self.embedding, hidden)

    for device in ("meta", "cpu"):
        peak = peak_memory(Both().to(device), {"hidden": torch.zeros(1, states, 8, device=device)}).activations
        whole = 4 * states * words
        assert whole * 1.5 <= peak < whole * 1.51  # the largest cluster once more


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("clusters", [CLUSTERS["three"], CLUSTERS["four"]], ids=["three", "four"])
def test_a_loss_that_chooses_no_rows_is_the_same(clusters, tie):
    found = []
    for chooses in (True, False):
        embedding, head = parts(clusters, tie)
        head.chooses = chooses
        draw = torch.Generator().manual_seed(2)
        hidden = torch.randn(50, WIDTH, generator=draw, dtype=torch.float64, requires_grad=True)
        labels = torch.randint(0, WORDS, (50,), generator=draw)
        labels[::7] = -100
        loss = head.loss_sum(hidden, labels, embedding)
        loss.backward()
        every = [*embedding.parameters(), *head.parameters()] if tie else [*head.parameters()]
        found.append([loss, hidden.grad, *(parameter.grad for parameter in every)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
