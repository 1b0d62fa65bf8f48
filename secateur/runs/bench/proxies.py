"""The bench of proxies: score the networks of a table, judge each proxy, write what was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from secateur.errors import ConfigurationError
from secateur.runs.bench.judging import TRUE, judge
from secateur.runs.bench.material import gather
from secateur.runs.bench.results import PAGE, SCORES, ProxyStudy, notes
from secateur.runs.bench.scoring import CUTS, ScoreFile, proxy_names, score_table
from secateur.runs.progress import Progress
from secateur.settings import Settings, option
from secateur.tables import read_trained


@dataclass(frozen=True, kw_only=True)
class ProxySettings(Settings):
    """The arguments of `secateur proxies`."""

    table: Path
    to: Path
    proxy: list[str] | None
    source: list[str] | None
    partial: list[float] | None
    text: str | None
    tokenizer: str | None
    vocabulary: int | None = option(least=2)
    batch: int = option(least=2)
    length: int = option(least=2)
    seed: int = option(least=0)

    def faults(self, prefix: str = "") -> list[str]:
        found = super().faults(prefix)
        if self.tokenizer is not None and self.text is None:
            found.append("`tokenizer` is for a text: give --text too.")
        if self.to.exists() and not self.to.is_dir():
            found.append(f"`{self.to}` is a file: --to takes a folder.")
        return found


def judge_proxies(settings: ProxySettings, progress: Progress) -> ProxyStudy:
    """Score the table's networks by each proxy, and judge it.

    Raises ConfigurationError for settings out of range or unknown proxies, DataError for a table or text that cannot be used.
    """
    names = proxy_names(settings.proxy or (), settings.partial or CUTS)
    s, to = settings.check(), settings.to
    read = read_trained(s.table)
    table = read.only(s.source) if s.source else read
    networks = table.averaged()
    try:
        to.mkdir(parents=True, exist_ok=True)
        (to / f"{PAGE}.unfinished").touch()
        (to / f"{PAGE}.unfinished").unlink()
    except OSError as error:
        raise _unwritable(to, error) from error
    material = gather(table, s.text, s.tokenizer, s.vocabulary, s.batch, s.length, s.seed)
    try:
        with progress.bar("scoring networks") as advance:
            scores = score_table(networks, names, material, ScoreFile(to / SCORES), advance=advance)
    except OSError as error:
        raise _unwritable(to, error, f"What was scored is in {SCORES}: the same command goes on from there.") from error
    judged = [judge(name, networks, scores[name], s.seed) for name in names]
    study = ProxyStudy(to, judged, table.ceiling(TRUE), notes(table, networks, material, judged))
    try:
        study.write(networks, scores)
    except OSError as error:
        print(str(study).rpartition("\n")[0])  # without its last line, which says where the page is
        raise _unwritable(to, error, "What was found is printed instead.") from error
    return study


def _unwritable(to: Path, error: OSError, more: str = "") -> ConfigurationError:
    return ConfigurationError(f"`to` cannot be written: `{to}`: {(error.strerror or str(error)).lower()}. {more}".rstrip())
