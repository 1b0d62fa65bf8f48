"""The README.md of a folder with a network that was trained from scratch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from secateur import __version__


def trained_card(facts: Mapping[str, Any]) -> str:
    """Markdown with a header for model hubs.

    `name`, `architecture` (its choices), `parameters`, `decoder_parameters`, `text`, `steps`, `seconds`, `validation` and
    `test` (perplexities, test may be None), `settings` (name → value), `differences` (form → largest difference of outputs).
    """
    sizes = facts["architecture"]
    rows = [("parameters", f"{facts['parameters']:,}"), ("decoder parameters", f"{facts['decoder_parameters']:,}")]
    rows.append(("perplexity per token, validation", f"{facts['validation']:.2f}"))
    if facts.get("test") is not None:
        rows.append(("perplexity per token, test", f"{facts['test']:.2f}"))
    rows += [("training steps", f"{facts['steps']:,}"), ("training time", f"{facts['seconds']:.0f} s")]
    parts = [
        "---\nlibrary_name: transformers\ntags: [secateur, language-modelling]\n---",
        f"# {facts['name']}",
        f"A {sizes['backbone']} decoder of width {sizes['width']} with {len(sizes['heads'])} layers, trained from scratch on "
        f"`{facts['text']}`. `curve.json` holds its learning curve.",
        "| | |\n|---|---:|\n" + "\n".join(f"| {name} | {value} |" for name, value in rows),
        "## Architecture\n\n| layer | heads | inner width |\n|---:|---:|---:|\n"
        + "\n".join(f"| {k} | {h} | {i} |" for k, (h, i) in enumerate(zip(sizes["heads"], sizes["inner"], strict=True))),
        "## Training\n\n" + "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in facts["settings"].items()),
        "## Loading\n\n```python\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        f'model = AutoModelForCausalLM.from_pretrained("{facts["name"]}", trust_remote_code=True)\n'
        f'tokenizer = AutoTokenizer.from_pretrained("{facts["name"]}", trust_remote_code=True)\n```\n\n'
        "With Secateur installed, `secateur.load` runs no code from the folder.",
    ]
    if facts.get("differences"):
        told = "\n".join(f"| {name} | {value:.1e} |" for name, value in facts["differences"].items())
        parts.append("## Verified\n\n| largest difference of outputs from the trained network | |\n|---|---:|\n" + told)
    return "\n\n".join([*parts, f"Made with Secateur {__version__}."]) + "\n"
