"""`secateur evaluate`: a language model's scores on tasks of lm-evaluation-harness, without shots or with a few."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from secateur.errors import ConfigurationError, MissingExtraError
from secateur.tasks.lm_scores import Questions, Scores, score_network, write_json


def evaluate(
    model: Annotated[str, typer.Argument(help="Folder of a checkpoint, or a name on the hub.")],
    *,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="A task of lm-evaluation-harness, or the path of a task's YAML file. Give it several times for several."
        ),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="lts14: the 14 tasks of Javaheripi et al. (2022).")] = None,
    shots: Annotated[int, typer.Option(help="Solved examples in front of each question.")] = 0,
    limit: Annotated[
        int | None, typer.Option(help="Ask only the first so many examples of each task.", show_default="all")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Texts per forward pass.")] = 8,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N, or auto for a GPU where there is one.")] = "auto",
    include: Annotated[Path | None, typer.Option(help="A folder with task files (YAML) of your own.")] = None,
    to: Annotated[Path | None, typer.Option(help="A JSON file to write the results to; must be new.")] = None,
) -> Scores:
    """Score a causal language model on tasks of lm-evaluation-harness.

    Raises ConfigurationError for settings that do not fit, MissingExtraError without lm_eval, ModelError for a model that
    cannot be loaded or predicts no next token, DataError for a task whose data cannot be had.
    """
    include, to = (None if path is None else Path(path) for path in (include, to))
    questions = Questions(task=task, preset=preset, shots=shots, limit=limit, batch_size=batch_size, include=include)
    faults = questions.faults()
    if to is not None and to.exists():
        faults.append(f"`to` must be a new file, and `{to}` exists.")
    if faults:
        raise ConfigurationError(faults)
    if find_spec("lm_eval") is None:
        raise MissingExtraError("lm-eval", "lm-eval")
    if to is not None:
        write_json(None, to)
    import secateur.auto  # noqa: F401 - the tokenizer's loader asks transformers for the configuration of our classes
    from secateur.checkpoints.pretrained import load_causal
    from secateur.checkpoints.tokenizers import tokenizer_of
    from secateur.devices.device import resolve_device

    where = resolve_device(device)
    network, tokenizer = load_causal(model), tokenizer_of(model)
    scores = score_network(network.to(where).eval(), tokenizer, model, questions)
    if to is not None:
        try:
            write_json(scores.as_dict(), to)
        except ConfigurationError as error:
            typer.echo(str(scores))  # hours of work may be in it
            raise ConfigurationError(f"{error} The scores are printed instead.") from error
    return scores
