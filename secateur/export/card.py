"""The README.md of an exported folder: what the network is, how good and how large, and how to load it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from secateur import __version__

#: What each difference in the card compares.
_COMPARED = {
    "extracted": "selected on the shared weights, and extracted",
    "reloaded": "extracted, and reloaded from this folder",
    "onnx": "reloaded, and `model.onnx`",
    "int8": "reloaded, and `model.int8.onnx` (eight-bit weights: some difference is expected)",
}


def model_card(facts: Mapping[str, Any]) -> str:
    """Markdown with a header for model hubs. Every fact is optional; what is missing is left out.

    `name`, `base_model`, `task`, `metric` (strings); `validation`, `test` (after) and `whole_validation`, `whole_test` (before:
    the unpruned network), scores in the metric's unit; `polished` (bool); `parameters`, `body_parameters`, `macs` and the same
    with `whole_`; `macs_length` (tokens); `shape` (layers, heads, units) and `plan` (as `Plan.as_dict`); `kind`,
    `model_class`, `onnx`, `int8_ratio`, `differences` (name → number); `version`.
    """
    parts = [_front_matter(facts), f"# {facts.get('name', 'A pruned Transformer')}", _introduction(facts)]
    parts += [_numbers(facts), _architecture(facts), _loading(facts), _differences(facts)]
    parts.append(f"Made with Secateur {facts.get('version', __version__)}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _front_matter(facts: Mapping[str, Any]) -> str:
    lines = ["---", "library_name: transformers", "tags: [secateur, pruning]"]
    if facts.get("base_model"):
        lines.append(f'base_model: "{str(facts["base_model"]).replace(chr(34), "")}"')
    return "\n".join([*lines, "---"])


def _introduction(facts: Mapping[str, Any]) -> str:
    base = f" of `{facts['base_model']}`" if facts.get("base_model") else ""
    task = f", for `{facts['task']}`" if facts.get("task") else ""
    polished = ""
    if facts.get("polished") is not None:
        done = (
            "It was fine-tuned after it was cut out." if facts["polished"] else "Its weights are the super-network's, cut out."
        )
        polished = " " + done
    return f"A sub-network{base}{task}.{polished}"


def _numbers(facts: Mapping[str, Any]) -> str:
    metric = facts.get("metric", "score")
    rows = []
    for key, label in (
        ("validation", f"{metric}, validation"),
        ("test", f"{metric}, test"),
        ("parameters", "parameters"),
        ("body_parameters", "parameters of the layers (without embeddings and head)"),
        ("macs", f"multiply-accumulates (batch 1, length {facts.get('macs_length', 128)})"),
    ):
        after, before = facts.get(key), facts.get("whole_" + key)
        if after is None:
            continue
        rows.append(f"| {label} | {_number(before)} | {_number(after)} | {_share(after, before)} |")
    if not rows:
        return ""
    return "\n".join(["## Numbers", "", "| | unpruned | this network | share |", "|---|---:|---:|---:|", *rows])


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _share(after: float, before: float | None) -> str:
    return f"{after / before:.1%}" if before else "–"


def _architecture(facts: Mapping[str, Any]) -> str:
    plan, shape = facts.get("plan"), facts.get("shape")
    if not plan or not shape:
        return ""
    kept = {layer["index"]: layer for layer in plan["layers"]}
    rows = ["## Architecture", "", f"Heads of {shape['heads']} and units of {shape['units']} kept, layer by layer:", ""]
    rows += ["| layer | heads | units |", "|---:|---:|---:|"]
    for index in range(shape["layers"]):
        if index in kept:
            rows.append(f"| {index} | {_count(kept[index]['heads'])} | {_count(kept[index]['units'])} |")
        else:
            rows.append(f"| {index} | removed | removed |")
    return "\n".join(rows)


def _count(kept: int | list[int]) -> str:
    count = kept if isinstance(kept, int) else len(kept)
    return str(count) if count else "removed"


def _loading(facts: Mapping[str, Any]) -> str:
    from secateur.anatomy import carving

    auto = carving.auto_class(str(facts.get("model_class", "")))
    if auto is None:
        return ""
    folder = facts.get("name", "this-folder")
    carried = facts.get("kind") == "carried"
    lines = ["## Loading", "", "```python", f"from transformers import {auto}, AutoTokenizer", ""]
    trust = ", trust_remote_code=True" if carried else ""  # for the tokenizer too: it reads the configuration first
    lines.append(f'model = {auto}.from_pretrained("{folder}"{trust})')
    lines += [f'tokenizer = AutoTokenizer.from_pretrained("{folder}"{trust})', "```"]
    if carried:
        lines += ["", f"`{carving.FILE}.py` in this folder builds the network, because its layers differ in size from what the"]
        lines.append(
            "family's configuration can say. With Secateur installed, `secateur.load` or `import secateur.auto` do without it."
        )
    if facts.get("onnx"):
        lines += ["", "`model.onnx` takes any batch and length."]
        if facts.get("int8_ratio"):
            lines[-1] += f" `model.int8.onnx` is {facts['int8_ratio']:.2f} times its size."
    return "\n".join(lines)


def _differences(facts: Mapping[str, Any]) -> str:
    differences = facts.get("differences")
    if not differences:
        return ""
    rows = [f"| {_COMPARED.get(name, name)} | {value:.1e} |" for name, value in differences.items()]
    return "\n".join(["## Verified", "", "| largest difference of outputs between the network | |", "|---|---:|", *rows])
