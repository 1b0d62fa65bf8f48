"""A network as one ONNX file with dynamic batch and length."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from secateur.anatomy.inputs import blank_inputs, reads_images
from secateur.errors import ExportError, MissingExtraError, one_line

#: Protobuf holds at most 2 GB: beyond this, weights go to a file beside the graph.
_ONE_FILE = 1_500_000_000


def need(*libraries: str) -> None:
    """Raise MissingExtraError for the first library that is not installed."""
    for library in libraries:
        if importlib.util.find_spec(library) is None:
            raise MissingExtraError(library, "onnx")


def export_onnx(model: Any, path: str | Path, *, kind: str = "classification", token_types: bool = False) -> Path:
    """Write the model as ONNX: `input_ids`, `attention_mask` (and `token_type_ids`) in, float32 `logits` out; returns the file.

    Inputs are int64 (batch, length), or (batch, choices, length) for multiple choice; all sizes are dynamic. A model that reads
    images has `pixel_values` (batch, channels, height, width) for its input, of a dynamic batch. `path` is a file, or a folder,
    where it becomes `model.onnx`. Decoders run without a cache. Raises ExportError when torch cannot trace the model.
    """
    need("onnx", "onnxscript")
    import torch

    path = Path(path)
    if path.suffix != ".onnx":
        path = path / "model.onnx"
    if kind == "classification" and _needs_padding_id(model):
        raise ExportError(
            "`pad_token_id` is not set in the model's configuration, so it can only classify one text at a time. Set it first."
        )
    axes: tuple[str, ...] = ("batch", "choices", "length") if kind == "multiple_choice" else ("batch", "length")
    if reads_images(model.config):
        axes = ("batch",)
        inputs = {name: value.cpu() for name, value in blank_inputs(model, 2, 1).items()}
    else:
        sizes = (2, 3, 8) if kind == "multiple_choice" else (2, 8)
        ids = torch.randint(int(model.config.vocab_size), sizes, generator=torch.Generator().manual_seed(0))
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if token_types:
            inputs["token_type_ids"] = torch.zeros_like(ids)
    dynamic = dict.fromkeys(range(len(axes)), torch.export.Dim.DYNAMIC)
    small = sum(p.numel() for p in model.parameters()) * 4 < _ONE_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with _without_chatter(), torch.no_grad():
        try:
            program = torch.onnx.export(
                _logits_of(model, tuple(inputs)),
                tuple(inputs.values()),
                dynamo=True,
                input_names=list(inputs),
                output_names=["logits"],
                dynamic_shapes=(tuple(dynamic for _ in inputs),),
                verbose=False,
            )
        except Exception as error:  # the exporter's own kinds are many, and all mean the same to a user
            reason = one_line(error.__cause__ or error)
            raise ExportError(f"torch could not export this `{type(model).__name__}` as ONNX: {reason}.") from error
        assert program is not None
        _name_axes(program, axes)
        program.save(str(path), external_data=not small)
    return path


def _needs_padding_id(model: Any) -> bool:
    """Decoders find the last token of each text by the padding id."""
    name = type(model).__name__
    return name.endswith("ForSequenceClassification") and hasattr(model, "score") and model.config.pad_token_id is None


def _logits_of(model: Any, names: tuple[str, ...]) -> Any:
    """A module that takes the inputs by position and returns the logits alone: a float32 copy on the CPU, in eval mode."""
    import copy

    import torch

    cache = {"use_cache": False} if hasattr(model.config, "use_cache") and hasattr(model, "generate") else {}

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = copy.deepcopy(model).cpu().float()
            for module in self.model.modules():
                if getattr(module, "chunk_size_feed_forward", 0):
                    # Chunks save memory and give the same numbers, but only where the length is a known multiple of them.
                    module.chunk_size_feed_forward = 0

        def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
            named = dict(zip(names, tensors, strict=True))
            return self.model(**named, **cache).logits  # type: ignore[no-any-return]

    return Logits().eval()


def _name_axes(program: Any, axes: tuple[str, ...]) -> None:
    """Call the inputs' dynamic sizes by their meaning instead of the tracer's `s12`."""
    renamed: dict[str, str] = {}
    for value in program.model.graph.inputs:
        renamed.update(
            {str(size): axis for size, axis in zip(value.shape[: len(axes)], axes, strict=True) if not isinstance(size, int)}
        )
    program.rename_axes(renamed)


@contextlib.contextmanager
def _without_chatter() -> Iterator[None]:
    """The exporter prints steps and warns of its own deprecations; none is for the user."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir", "torch.export")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def onnx_session(path: str | Path, threads: int | None = None) -> Any:
    """An ONNX file, opened by ONNX Runtime on the CPU, with so many threads; by default as many as it likes."""
    need("onnxruntime")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def onnx_inputs(session: Any, batch: Mapping[str, Any]) -> dict[str, Any]:
    """What the session reads, as numpy arrays, out of a batch of tensors. Without a mask there is no padding, without token
    types there is one text."""
    ids = batch.get("input_ids")
    texts = {} if ids is None else {"attention_mask": ids.new_ones(ids.shape), "token_type_ids": ids.new_zeros(ids.shape)}
    given = {**texts, **batch}
    return {wanted.name: given[wanted.name].cpu().numpy() for wanted in session.get_inputs()}


def run_onnx(path: str | Path, batch: Mapping[str, Any]) -> Any:
    """The logits (a numpy array) of an ONNX file on a batch of tensors, by ONNX Runtime on the CPU."""
    session = onnx_session(path)
    return session.run(["logits"], onnx_inputs(session, batch))[0]
