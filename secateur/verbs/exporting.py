"""What `secateur export` is asked for, written: a run's sub-network, or the forms of a trained folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from secateur.checkpoints.folders import is_trained
from secateur.errors import ConfigurationError, StudyError
from secateur.export import Exported
from secateur.export.checkpoint import CARRIED
from secateur.export.trained import export_trained
from secateur.paths import checked
from secateur.runs.design.forms import judging_folder
from secateur.runs.design.training import UNFINISHED
from secateur.runs.folder import open_run
from secateur.runs.progress import Progress
from secateur.runs.prune.run import PruneRun


@dataclass(frozen=True)
class Wanted:
    """The arguments of `secateur export`; `pushed`: the folder goes to a hub afterwards."""

    run: Path
    to: Path | None
    under: list[str] | None
    key: str | None
    polished: bool | None
    text: Path | None
    #: Which of the options for formats were given.
    forms: dict[str, bool]
    progress: bool
    pushed: bool

    def written(self) -> Exported:
        """The folder that was written, or that is there already."""
        run = checked(self.run, StudyError)
        if is_trained(run):
            return self._forms(run)
        if self.text is not None:
            raise ConfigurationError("--text is only for folders that `secateur train` made: a pruning run knows its own data.")
        if self.to is None:
            raise ConfigurationError("say where to write it: --to names a new folder.")
        opened = open_run(self.run)
        if not isinstance(opened, PruneRun):
            raise StudyError(opened.no_export())
        member = opened.choose(self.key, self.under, "export", "body_parameters=50%")
        exported: Exported = member.save(self.to, polished=self.polished, progress=self.progress, **self.forms)
        return exported

    def _forms(self, folder: Path) -> Exported:
        """The ONNX forms of a trained folder; the folder itself where it is only to be pushed."""
        choices: dict[str, object] = {"under": self.under, "key": self.key, "polished": self.polished}
        faults = [
            f"`{name}` chooses among a run's sub-networks, but `{folder}` is a single trained network: leave it out."
            for name, value in choices.items()
            if value is not None and value != []
        ]
        plain = not any(self.forms.values())
        if plain and (self.to is not None or self.text is not None or not self.pushed):
            faults.append(f"`{folder}` is already a checkpoint that loads: say what to add, --onnx, --int8 or --int4.")
        if faults:
            raise ConfigurationError(faults)
        if (folder / UNFINISHED / "settings.json").exists():
            raise StudyError(f"`{folder}` contains an unfinished training. Run the same `secateur train` command again first.")
        if plain:
            return Exported.found(folder, CARRIED, {})
        judge = judging_folder(folder, self.text, Progress(self.progress))
        return export_trained(folder, self.to, judge=judge, **self.forms)
