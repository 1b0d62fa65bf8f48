from __future__ import annotations

import pytest

from secateur.errors import ExportError, MissingExtraError
from secateur.export.onnx import export_onnx, need, onnx_session, run_onnx
from secateur.export.quantise import quantise_int4, quantise_int8
from secateur.export.verify import padded_batch

pytestmark = pytest.mark.slow

CASES = [
    ("bert", None, "no_attention"),
    ("bert", "BertForMultipleChoice", "mixed"),
    ("gpt2", None, "no_attention"),
    ("gpt2", "GPT2ForSequenceClassification", "mixed"),
    ("llama", None, "mixed"),
    ("mpnet", None, "mixed"),
    ("gpt_neox", None, "mixed"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "class_name", "name"), CASES)
def test_any_batch_and_length(family, class_name, name, supernet_of, plans, heads_of, tmp_path):
    import torch

    supernet = supernet_of(family, class_name)
    model = supernet.extract(plans[name](heads_of[family]) if name == "mixed" else plans[name]()).eval()
    choices = "Choice" in (class_name or "")
    kind = (
        "multiple_choice"
        if choices
        else "language_modelling"
        if class_name is None and family in ("gpt2", "llama", "gpt_neox")
        else "classification"
    )
    token_types = family == "bert"
    path = export_onnx(model, tmp_path, kind=kind, token_types=token_types)
    assert path == tmp_path / "model.onnx"
    assert [f.name for f in tmp_path.iterdir()] == ["model.onnx"], "one file"
    batch = padded_batch(model, kind, token_types=token_types)
    one = {key: tensor[:1, ..., :1] for key, tensor in batch.items()}
    for inputs in (batch, {key: tensor[:2, ..., :5] for key, tensor in batch.items()}, one):
        with torch.no_grad():
            expected = model(**inputs).logits
        found = torch.from_numpy(run_onnx(path, inputs))
        assert found.shape == expected.shape
        if expected.ndim == 3:
            expected, found = expected[inputs["attention_mask"].bool()], found[inputs["attention_mask"].bool()]
        assert float((expected - found).abs().max()) <= 1e-4
    import onnxruntime

    inputs = {i.name: i.shape for i in onnxruntime.InferenceSession(path).get_inputs()}
    axes = ["batch", "choices", "length"] if choices else ["batch", "length"]
    assert inputs == dict.fromkeys(batch, axes)


def test_chunks_of_the_feed_forward_part_are_no_obstacle(supernet_of, tmp_path):
    """They give the same numbers, and only for lengths that they divide."""
    import torch

    model = supernet_of("bert", chunk_size_feed_forward=4).model
    assert model.bert.encoder.layer[0].chunk_size_feed_forward == 4
    path = export_onnx(model, tmp_path)
    batch = padded_batch(model)
    with torch.no_grad():
        expected = model(**batch).logits
    assert float((expected - torch.from_numpy(run_onnx(path, batch))).abs().max()) <= 1e-4
    run_onnx(path, {name: tensor[:, :7] for name, tensor in batch.items()})
    assert model.bert.encoder.layer[0].chunk_size_feed_forward == 4, "the model itself keeps its chunks"


@pytest.mark.slow
def test_int8_is_smaller_and_near(supernet_of, tmp_path):
    import torch

    wide = {"hidden_size": 128, "intermediate_size": 512}
    supernet = supernet_of("bert", None, **wide)
    model = supernet.extract(supernet.whole)
    path = export_onnx(model, tmp_path / "a.onnx")
    made = quantise_int8(path, tmp_path / "b.onnx")
    assert made.path == tmp_path / "b.onnx"
    assert made.ratio == (tmp_path / "b.onnx").stat().st_size / path.stat().st_size
    weights = 4 * sum(m.weight.numel() for m in model.bert.encoder.modules() if isinstance(m, torch.nn.Linear))
    saved = path.stat().st_size - made.path.stat().st_size
    assert saved > 0.65 * weights, "a quarter of the bytes is left of each matrix, and a scale for each of its rows"
    batch = padded_batch(model)
    difference = abs(run_onnx(path, batch) - run_onnx(made.path, batch)).max()
    with torch.no_grad():
        assert 0 < difference < 0.2 * float(model(**batch).logits.abs().max())


def test_a_decoder_that_classifies_needs_a_padding_id(supernet_of, tmp_path):
    supernet = supernet_of("gpt2", "GPT2ForSequenceClassification", pad_token_id=None)
    with pytest.raises(ExportError, match="`pad_token_id` is not set"):
        export_onnx(supernet.model, tmp_path)


def test_a_model_that_cannot_be_traced(supernet_of, plans, tmp_path):
    import torch

    model = supernet_of("bert").extract(plans["mixed"]())

    class Odd(torch.nn.Module):
        def forward(self, pooled):
            return self.missing(pooled)

    model.classifier = Odd()
    with pytest.raises(ExportError, match="could not export this `BertForSequenceClassification`") as caught:
        export_onnx(model, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("quantise", [quantise_int8, quantise_int4])
def test_files_that_cannot_be_quantised(quantise, tmp_path):
    with pytest.raises(ExportError, match="is not a file"):
        quantise(tmp_path / "no.onnx", tmp_path / "b.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"no graph at all")
    with pytest.raises(ExportError, match="could not be quantised"):
        quantise(tmp_path / "bad.onnx", tmp_path / "b.onnx")


def test_four_bit_weights_are_those_rounded_by_hand(tmp_path):
    """16 levels from the least (or 0) to the most (or 0) of 32 weights in a row: of a matrix by columns, of a table by rows."""
    numpy, onnx = pytest.importorskip("numpy"), pytest.importorskip("onnx")
    rng = numpy.random.default_rng(0)
    table, matrix = (rng.normal(size=size).astype("float32") for size in ((50, 96), (96, 20)))
    helper, kinds = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["x"]), helper.make_node("MatMul", ["x", "matrix"], ["out"])],
        "small",
        [helper.make_tensor_value_info("ids", kinds.INT64, ["n"])],
        [helper.make_tensor_value_info(name, kinds.FLOAT, ["n", size]) for name, size in (("x", 96), ("out", 20))],
        [onnx.numpy_helper.from_array(table, "table"), onnx.numpy_helper.from_array(matrix, "matrix")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), tmp_path / "a.onnx")
    made = quantise_int4(tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert made.ratio < 0.5

    def rounded(rows):
        blocks = rows.reshape(len(rows), -1, 32)
        low, high = (numpy.minimum(blocks.min(-1), 0)[..., None], numpy.maximum(blocks.max(-1), 0)[..., None])
        scale = (high - low) / 15
        zero = numpy.round(-low / scale)
        return ((numpy.clip(numpy.round(blocks / scale + zero), 0, 15) - zero) * scale).reshape(rows.shape)

    ids = numpy.arange(50)
    embedded, out = onnx_session(made.path).run(["x", "out"], {"ids": ids})
    assert embedded == pytest.approx(rounded(table), abs=1e-5)
    by_hand = embedded @ rounded(matrix.T).T
    exact = embedded @ matrix
    off, lost = abs(out - by_hand).max(), abs(by_hand - exact).max()
    assert off < 0.2 * lost, "what is left is the rounding of activations to eight bits"


def test_a_missing_library_names_its_extra():
    need("json")
    with pytest.raises(MissingExtraError, match=r"`no_such_library` is not installed.*secateur\[onnx\]"):
        need("json", "no_such_library")
