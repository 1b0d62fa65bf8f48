"""`secateur evaluate`: a language model's scores on tasks of lm-evaluation-harness, without shots or with a few."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from secateur.errors import ConfigurationError, MissingExtraError
from secateur.report.terminal import echo
from secateur.tasks.lm_scores import Questions, Scores, score_network, write_json
from secateur.verbs.completion import DEVICES, among
from secateur.verbs.signature import Model, takes

Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:N, or auto: a GPU if there is one.", autocompletion=among(DEVICES))]


@takes(Questions)
def evaluate(questions: Questions, model: Model, *, device: Device = "auto") -> Scores:
    """Score a causal language model on tasks of lm-evaluation-harness.

    Raises ConfigurationError for settings that do not fit, MissingExtraError without lm_eval, ModelError for a model that
    cannot be loaded or does not predict next tokens, DataError for a task whose data cannot be loaded.
    """
    if find_spec("lm_eval") is None:
        raise MissingExtraError("lm-eval", "lm-eval")
    if questions.to is not None:
        write_json(None, questions.to)
    import secateur.auto  # noqa: F401 - the tokenizer's loader asks transformers for the configuration of our classes
    from secateur.checkpoints.pretrained import load_causal
    from secateur.checkpoints.tokenizers import tokenizer_of
    from secateur.devices.device import resolve_device

    where = resolve_device(device)
    network, tokenizer = load_causal(model), tokenizer_of(model)
    scores = score_network(network.to(where).eval(), tokenizer, model, questions)
    if questions.to is not None:
        try:
            write_json(scores.as_dict(), questions.to)
        except ConfigurationError as error:
            echo(str(scores))  # hours of work may be in it
            raise ConfigurationError(f"{error} The scores are printed instead.") from error
    return scores
