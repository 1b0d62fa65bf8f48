"""What the page and the table of a pruning run show, read from its folder."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from secateur.checkpoints.pretrained import AUTO_CLASSES
from secateur.errors import BoundError
from secateur.objectives import PERPLEXITY, QUALITIES, QUANTITIES
from secateur.paths import quoted
from secateur.report import ReportData
from secateur.report.data import Row
from secateur.report.formats_rows import UNPRUNED, format_rows, formats_table
from secateur.report.gain import percent
from secateur.report.numbers import score_shown, show, shown_as
from secateur.report.rows import SHARES, Column, Table
from secateur.runs.prune.formats import formats_of
from secateur.runs.prune.member import qualities, summary
from secateur.runs.prune.run import KEPT, SUPERNET, PruneMember, PruneRun
from secateur.runs.reporting import Report, trial_row
from secateur.study import Front, Journal
from secateur.supernet.order import ORDER
from secateur.trial import POLISH


class PruneReport(Report):
    """The report of a run of `secateur prune`."""

    run: PruneRun
    usual_objectives = ("error", "body_parameters")

    def facts(self) -> Row:
        c = self.run.configuration
        named = {"model": self.run.model_name, "data": self.run.task.get("name", c.data)}
        return named | {name: getattr(c, name) for name in ("method", "space", "searcher", "trials", "seed")}

    def conditions(self) -> Row:
        run, c = self.run, self.run.configuration
        read = "images" if run.on_images else f"{c.latency_length} tokens"
        return {
            "metric": run.metric,
            "data": run.store.get_meta("data"),
            "sizes": run.task.get("sizes"),
            "network": self._whole(),
            "device": run.store.get_meta("device"),
            "measured": f"{c.latency_batch} × {read}, {c.threads} threads",
        }

    def scored_by(self) -> str:
        return self.run.metric

    def scored(self, member: PruneMember) -> Row:
        return {"key": member.key, "score": self.run.score(member.values), "test": self.run.score(member.test)}

    def data(self) -> ReportData:
        run = self.run
        front = run.front
        best, cards = {m.key for m in front}, self._cards(front)
        keys = best | {m.key for m in run.searched} | {card["key"] for card in cards}
        shown = [m for m in front.pool if m.key in keys or m.polished is not None]
        lead, about, named = ("", "", None) if run.doubt is not None else self._lead()
        return ReportData(
            **self.common(f"{run.model_name} on {run.task.get('name', run.configuration.data)}"),
            task={**run.task, "main": run.metric},
            shape=run.shape,
            unpruned={"values": run.whole, "test": run.unpruned_test},
            lead=lead,
            lead_about=about,
            lead_key=named.key if named is not None else None,
            lead_details=named.gain.details() if named is not None else "",
            doubt=run.doubt,
            chance=run.chance_score,
            chance_test=run.score(run.chance["test"]) if run.chance else None,
            cards=cards,
            trials=[{**trial_row(t), "plan": run.plan(t.architecture).as_dict()} for t in run.trials if t.origin != POLISH],
            front=[
                {**self._member(m), "best": m.key in best} for m in sorted(shown, key=lambda m: m.values["body_parameters"])
            ],
            curves={name: [{"step": step, **values} for step, values in run.store.curve(name)] for name in self._trainings()},
            importance=self._importance(),
            formats=self.format_rows(),
            formats_about=self._formats_about(),
            notes=self._notes(),
            load_code=self._load_code(),
        )

    def format_rows(self) -> list[Row]:
        """Every format of the networks that the run names, and of the unpruned one."""
        run = self.run
        found = {key: forms.as_dict() for key, forms in formats_of(run).items()}
        names = {m.key: f"{m.key[:8]}, {summary(m)}" for m in run.front.pool if m.key in found} if found else {}
        return format_rows(found, names | {UNPRUNED: f"unpruned, {self._whole()}"})

    def _formats_about(self) -> str:
        """What the numbers of the formats are, and what there is to say of them."""
        forms = formats_of(self.run)
        told = list(dict.fromkeys(f"{found.described[:1].upper()}{found.described[1:]}." for found in forms.values()))
        told += [f"Not scored: {reason}." for reason in dict.fromkeys(found.unscored for found in forms.values()) if reason]
        return " ".join([*told, *dict.fromkeys(note for found in forms.values() for note in found.notes)])

    def further(self) -> list[tuple[Table, str]]:
        if not (rows := self.format_rows()):
            return []
        return [(formats_table(rows), f"Formats, against the unpruned network in PyTorch. {self._formats_about()}")]

    def _member(self, member: PruneMember) -> dict[str, Any]:
        done = member.polished
        return {
            "key": member.key,
            "architecture": member.text,
            "plan": member.plan.as_dict(),
            "values": {**member.values, **qualities(member.trial.values)},
            "details": {
                f"{n}, validation" if n in self.run.task.get("metrics", ()) else n: v for n, v in member.details.items()
            },
            "test": member.shared_test,
            "weights": member.weights,
            "gain": member.gain.as_dict(),
            "gain_text": str(member.gain),
            "chance": not member.above_chance,
            "polished": {"values": dict(done.values), "test": member.polished_test} if done and done.complete else None,
        }

    def _cards(self, front: Front[PruneMember]) -> list[dict[str, Any]]:
        """The best at each share of the layers' parameters, by the rule of `front`, `export` and `run.front.best`."""
        found = []
        for share in SHARES:
            with contextlib.suppress(BoundError):
                found.append({"limit": share / 100, "key": front.best(under={"body_parameters": f"{share}%"}).key})
        return found

    def lead(self) -> str:
        """What was gained and what it cost, before anything else."""
        if self.run.doubt is not None:
            return self.run.doubt
        gain, about, _ = self._lead()
        return f"{gain}: {about}." if gain else ""

    def _lead(self) -> tuple[str, str, PruneMember | None]:
        """The gain that is named first, by which network, and the network."""
        run, best = self.run, self.run.headline
        if best is not None:
            cost = "fastest" if "latency" in best.values else "smallest"
            return str(best.gain), f"{summary(best)}, the {cost} that keeps {percent(KEPT)} of what the model learned", best
        if not len(run.front):
            return "", "", None
        known = "" if run.chance_score is None else f" above chance ({run.chance_score:.3f})"
        best = run.front.best()
        told = f"{summary(best)}, the best available: no sub-network keeps {percent(KEPT)} of what the model learned{known}"
        return str(best.gain), told, best

    def _trainings(self) -> list[str]:
        """The names of the training curves in the order in which they ran: stage by stage, and as they were polished."""
        stages = [row.name for row in Journal(self.run.store).rows()]
        polished = [f"{POLISH} {key[:8]}" for key in self.run.polished]
        order = {name: place for place, name in enumerate([*stages, *polished])}
        return sorted(self.run.store.curves(), key=lambda name: order.get(name, len(order)))

    def _importance(self) -> dict[str, Any] | None:
        path = self.run.folder / SUPERNET / ORDER
        if not path.is_file():
            return None
        from safetensors.numpy import load_file

        arrays = load_file(path)
        names = {"heads": "importance.heads", "units": "importance.units"}
        names |= {"order_heads": "order.heads", "order_units": "order.units"}
        return {name: arrays[stored].tolist() for name, stored in names.items()}

    def _notes(self) -> list[str]:
        notes = [note for note in self.run.notes if note != self.run.doubt]
        busy = sum(bool(t.details.get("latency_loaded")) for t in self.run.trials)
        if busy:
            notes.append(f"The machine was busy with other work while {busy} trials' latencies were measured.")
        if any(QUANTITIES[o.name].unit == "s" for o in self.run.objectives):
            notes.append("Latency was measured, so another run with the same seed may find a different front.")
        return notes

    def _load_code(self) -> str:
        auto = AUTO_CLASSES[self.run.task.get("kind", "classification")]
        return (
            f"secateur export {quoted(self.run.folder)} --key {{key}} --to pruned\n\n"
            f"from transformers import {auto}\n"
            f'model = {auto}.from_pretrained("pruned", trust_remote_code=True)'
        )

    def table(self, members: Sequence[PruneMember], wide: bool) -> tuple[Table, str, Row | None]:
        """Gains, costs and scores of the weights that an export writes."""
        run = self.run
        known = [n for n in ("latency", "memory") if any(n in m.values for m in members)]
        columns = [Column("key", "key"), Column("architecture", "architecture")]
        columns += [
            Column("speedup", "faster", "times"),
            Column("layers", "layers kept", "share"),
            Column("points", "points", "points"),
        ]
        how = score_shown(run.metric)
        columns += [Column(n, n, shown_as(n)) for n in (["parameters", *known] if wide else known[:1])]
        columns += [Column("validation", "valid.", how), Column("test", "test", how)]
        beside = run.task.get("kind") == "language_modelling" and run.metric != PERPLEXITY
        columns += [Column("perplexity", "perplexity", "number")] if beside else []
        columns += [Column("weights", "weights")] if wide else []
        rows = [self._row(member) for member in sorted(members, key=lambda m: m.values["body_parameters"])]
        last: Row = {
            "key": "unpruned",
            "architecture": self._whole(),
            "layers": 1.0,
            **run.whole,
            **self._scores(run.unpruned, run.unpruned_test),
        }
        title = f"{self.heading(members)}; scores are {run.metric.replace('_', ' ')}"
        if run.chance_score is not None:
            title += f" (chance {run.chance_score:.3f}{', ? = no better' if any(r['chance'] for r in rows) else ''})"
        if any(isinstance(row["speedup"], str) for row in rows):
            title += "; ~ = predicted"
        return Table(columns, rows).filled("speedup", "points", "test"), title, last

    def _whole(self) -> str:
        """The unpruned network in a few words."""
        return "{layers} × ({heads}, {units})".format(**self.run.shape)

    def _row(self, member: PruneMember) -> Row:
        share = member.values["body_parameters"] / (self.run.unpruned["body_parameters"] or 1)
        chance = not member.above_chance
        row: Row = {"key": member.key[:8] + "?" * chance, "architecture": summary(member), "layers": share, "chance": chance}
        gain = member.gain
        row |= {**member.values, **self._scores(member.values, member.test), "weights": member.weights}
        guessed = gain.predicted and gain.speedup is not None
        return row | {"speedup": f"~{show(gain.speedup, 'times')}" if guessed else gain.speedup, "points": gain.points}

    def plain_row(self, member: PruneMember) -> Row:
        values, tested = member.values, member.test or {}
        row: Row = {"key": member.key, "trial": member.trial.number, "architecture": str(member.architecture)}
        row |= {**member.gain.as_dict(), **values, "weights": member.weights, "above_chance": member.above_chance}
        row |= {"validation_score": self.run.score(values), "test_score": self.run.score(tested)}
        row["body_parameters_share"] = values["body_parameters"] / (self.run.unpruned["body_parameters"] or 1)
        return row | {f"test_{name}": value for name, value in tested.items()} | {"choices": dict(member.architecture.choices)}

    def next_step(self) -> str:
        """Export by the user's own objective, at what the network named first reaches."""
        best, costs = self.run.headline, [o.name for o in self.run.objectives if o.name not in QUALITIES]
        name = next((n for n in costs if self.run.whole.get(n)), "body_parameters")
        share = 0.5 if best is None else best.values[name] / self.run.whole[name]
        bound = f"{name}={math.ceil(share * 100)}%"
        return f"Export: secateur export {quoted(self.run.folder)} --under {bound} --to pruned"

    def _scores(self, values: Mapping[str, Any], test: Mapping[str, Any] | None) -> dict[str, float | None]:
        tested = {"test": self.run.score(test), "perplexity": (test or {}).get("perplexity")}
        return {"validation": self.run.score(values), **tested}
