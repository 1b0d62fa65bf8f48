"""The README.md of an exported folder: what the network is, how good and how large, and how to load it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from secateur import __version__
from secateur.export.scored import FILES, Forms

#: What each difference in the card compares.
_COMPARED = {
    "extracted": "selected on the shared weights vs. extracted",
    "reloaded": "extracted vs. reloaded from this folder",
    "onnx": "reloaded, and `model.onnx`",
    "int8": "reloaded, and `model.int8.onnx` (eight-bit weights: some difference is expected)",
    "int4": "reloaded, and `model.int4.onnx` (four-bit weights: some difference is expected)",
}


def model_card(facts: Mapping[str, Any]) -> str:
    """Of a pruned network: Markdown with a header for model hubs. Every fact is optional; what is missing is left out.

    `name`, `base_model` (`on_hub`: whether it is a name there), `task`, `metric`, `gain`, `gain_details`, `warning` (strings).
    After, and before with `unpruned_`: `validation` and `test` (scores in the metric's unit, with `chance_validation` and
    `chance_test`; `chance` says what these are of), `perplexity`, `latency`, `prompt_latency` and `token_latency` (seconds),
    `memory` (bytes), `parameters`, `body_parameters`, `macs`. `measured_on` (text), `macs_length` (tokens), `images` (whether
    it reads images), `polished` (bool),
    `shape` (layers, heads, units), `plan` (as `Plan.as_dict`), `form`, `model_class`, `onnx`, `ratios` (form →
    share of model.onnx's size), `differences` (name → number), `forms` (Forms).
    """
    base = str(facts.get("base_model") or "") if facts.get("on_hub", True) else ""
    differences = {_COMPARED.get(name, name): value for name, value in (facts.get("differences") or {}).items()}
    return _page(
        ["pruning"],
        str(facts.get("name", "A pruned Transformer")),
        [
            _introduction(facts),
            _numbers(facts),
            facts["forms"].table() if facts.get("forms") else "",
            _kept(facts),
            _pruned_loading(facts),
            _differences("between the network", differences),
        ],
        base_model=base.replace('"', ""),
    )


def trained_card(facts: Mapping[str, Any]) -> str:
    """Of a network trained from scratch: Markdown with a header for model hubs.

    `name`, `architecture` (its choices), `parameters`, `decoder_parameters`, `text`, `steps`, `seconds`, `validation` and
    `test` (perplexities, test may be None), `settings` (name → value), `differences` (form → largest difference of outputs),
    `forms` (Forms).
    """
    sizes, name = facts["architecture"], str(facts["name"])
    rows = [("parameters", f"{facts['parameters']:,}"), ("decoder parameters", f"{facts['decoder_parameters']:,}")]
    rows.append(("perplexity per token, validation", f"{facts['validation']:.2f}"))
    if facts.get("test") is not None:
        rows.append(("perplexity per token, test", f"{facts['test']:.2f}"))
    rows += [("training steps", f"{facts['steps']:,}"), ("training time", f"{facts['seconds']:.0f} s")]
    layers = [(str(k), str(h), str(i)) for k, (h, i) in enumerate(zip(sizes["heads"], sizes["inner"], strict=True))]
    settings = "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in facts["settings"].items())
    return _page(
        ["language-modelling"],
        name,
        [
            f"A {sizes['backbone']} decoder of width {sizes['width']} with {len(layers)} layers, trained from scratch on "
            f"`{facts['text']}`. `curve.json` contains its learning curve.",
            _table("| | |\n|---|---:|", rows),
            facts["forms"].table() if facts.get("forms") else "",
            "## Architecture\n\n" + _table("| layer | heads | inner width |\n|---:|---:|---:|", layers),
            "## Training\n\n" + settings,
            _loading("AutoModelForCausalLM", name, carried=True)
            + "\n\nWith Secateur installed, `secateur.load` runs no code from the folder.",
            _differences("from the trained network", facts.get("differences") or {}),
        ],
    )


def with_forms(card: str, forms: Forms) -> str:
    """A card with a section on these forms, in the place of an earlier one."""
    without = re.sub(r"## Forms\n.*?(?=## |Made with |\Z)", "", card, flags=re.DOTALL)
    before, heading, after = without.partition("## Architecture\n")
    return f"{before.rstrip()}\n\n{forms.table()}\n\n{heading}{after}".rstrip() + "\n"


def _page(tags: list[str], title: str, parts: Iterable[str], base_model: str = "") -> str:
    header = ["---", "library_name: transformers", f"tags: [{', '.join(['secateur', *tags])}]"]
    header += [f'base_model: "{base_model}"'] if base_model else []
    page = ["\n".join([*header, "---"]), f"# {title}", *parts, f"Made with Secateur {__version__}."]
    return "\n\n".join(part for part in page if part) + "\n"


def _table(head: str, rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join([head, *(f"| {' | '.join(row)} |" for row in rows)])


def _loading(auto: str, folder: str, carried: bool) -> str:
    trust = ", trust_remote_code=True" if carried else ""  # for the tokenizer too: it reads the configuration first
    name, processor = ("processor", "AutoImageProcessor") if "Image" in auto else ("tokenizer", "AutoTokenizer")
    return (
        f"## Loading\n\n```python\nfrom transformers import {', '.join(sorted((auto, processor)))}\n\n"
        f'model = {auto}.from_pretrained("{folder}"{trust})\n'
        f'{name} = {processor}.from_pretrained("{folder}"{trust})\n```'
    )


def _differences(between: str, found: Mapping[str, float]) -> str:
    if not found:
        return ""
    head = f"| largest difference of outputs {between} | |\n|---|---:|"
    return "## Verified\n\n" + _table(head, ((name, f"{value:.1e}") for name, value in found.items()))


def _introduction(facts: Mapping[str, Any]) -> str:
    base = f" of `{facts['base_model']}`" if facts.get("base_model") else ""
    task = f", for `{facts['task']}`" if facts.get("task") else ""
    polished = {
        True: "It was polished: fine-tuned further after the search.",
        False: "Its weights are those it shared with the super-network, not fine-tuned further.",
    }
    told = [f"A sub-network{base}{task}.", *(said for done, said in polished.items() if facts.get("polished") is done)]
    gain = f"**{facts['gain']}**\n\n" if facts.get("gain") else ""
    details = f"\n\nFrom the unpruned network to this one: {facts['gain_details']}." if facts.get("gain_details") else ""
    warning = f"\n\n**{facts['warning']}**" if facts.get("warning") else ""
    return gain + " ".join(told) + details + warning


def _numbers(facts: Mapping[str, Any]) -> str:
    metric = facts.get("metric", "score")
    labels = {
        "perplexity": "perplexity, test",
        "validation": f"{metric}, validation",
        "test": f"{metric}, test",
        "latency": "latency of a pass",
        "prompt_latency": "latency per prompt",
        "token_latency": "latency per token",
        "memory": "peak memory of a pass",
        "parameters": "parameters",
        "body_parameters": "parameters of the layers (without embeddings and head)",
        "macs": f"multiply-accumulates ({_counted_on(facts)})",
    }
    known = any(f"chance_{name}" in facts for name in labels)
    rows = []
    for key, label in labels.items():
        after, before, chance = facts.get(key), facts.get("unpruned_" + key), facts.get("chance_" + key)
        if after is not None:
            share = _share(after, before) if before else "–"
            above = _share(after - chance, before - chance) if chance is not None and before and before > chance else ""
            rows.append((label, _number(key, before), _number(key, after), share, *([above] if known else [])))
    head = "| | unpruned | this network | share |", "|---|---:|---:|---:|"
    more = (" above chance |", "---:|") if known else ("", "")
    told = [_table("\n".join(line + added for line, added in zip(head, more, strict=True)), rows)]
    if known:
        levels = ", ".join(f"{facts[f'chance_{n}']:.4f} on {n} data" for n in ("validation", "test") if f"chance_{n}" in facts)
        told.append(f"Chance ({facts.get('chance', 'an answer that ignores its input')}) is {levels}.")
    if facts.get("measured_on") and any(facts.get(name) is not None for name in ("latency", "memory")):
        told.append(f"Latency and memory: {facts['measured_on']}.")
    return "## Numbers\n\n" + "\n\n".join(told) if rows else ""


def _counted_on(facts: Mapping[str, Any]) -> str:
    return "one image" if facts.get("images") else f"batch 1, length {facts.get('macs_length', 128)}"


def _share(value: float, whole: float) -> str:
    return f"{100 * value / whole:.1f} %"


def _number(key: str, value: float | None) -> str:
    if value is None:
        return "–"
    if key.endswith("latency"):
        return f"{value * 1e3:.3g} ms"
    if key == "memory":
        return f"{value / 1e6:.1f} MB"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if key == "perplexity" else f"{value:.4f}"


def _kept(facts: Mapping[str, Any]) -> str:
    plan, shape = facts.get("plan"), facts.get("shape")
    if not plan or not shape:
        return ""
    kept = {layer["index"]: (_count(layer["heads"]), _count(layer["units"])) for layer in plan["layers"]}
    rows = [(str(index), *kept.get(index, ("removed", "removed"))) for index in range(shape["layers"])]
    told = f"## Architecture\n\nHeads (of {shape['heads']}) and units (of {shape['units']}) kept in each layer:\n\n"
    return told + _table("| layer | heads | units |\n|---:|---:|---:|", rows)


def _count(kept: int | list[int]) -> str:
    count = kept if isinstance(kept, int) else len(kept)
    return str(count) if count else "removed"


def _pruned_loading(facts: Mapping[str, Any]) -> str:
    from secateur.anatomy import carving

    auto = carving.auto_class(str(facts.get("model_class", "")))
    if auto is None:
        return ""
    carried = facts.get("form") == "carried"
    parts = [_loading(auto, facts.get("name", "this-folder"), carried)]
    if carried:
        parts.append(
            f"`trust_remote_code=True` lets `{carving.FILE}.py` in this folder build the network, because its layers differ\n"
            "from what the family's configuration can express. With Secateur installed, no code in it needs to run:\n"
            f'`import secateur.auto` first and leave it out, or use `secateur.load("{facts.get("name", "this-folder")}")`.'
        )
    if facts.get("onnx"):
        small = [f"`{FILES[name]}` is {ratio:.2f} times its size." for name, ratio in (facts.get("ratios") or {}).items()]
        sizes = "any batch size" if facts.get("images") else "any batch size and length"
        parts.append(" ".join([f"`model.onnx` accepts {sizes}.", *small]))
    return "\n\n".join(parts)
