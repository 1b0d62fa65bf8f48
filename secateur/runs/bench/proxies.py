"""The bench of proxies: score the networks of a table, judge each proxy, write what was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from secateur.errors import ConfigurationError
from secateur.paths import no_folder, reason
from secateur.report.terminal import echo
from secateur.runs.bench.checking import count_notes
from secateur.runs.bench.image_proxies import ImageProxySettings
from secateur.runs.bench.judging import TRUE, judge
from secateur.runs.bench.material import gather
from secateur.runs.bench.results import SCORES, ProxyStudy, notes
from secateur.runs.bench.scoring import CUTS, ScoreFile, proxy_names, score_table
from secateur.runs.progress import Progress
from secateur.settings import MOST_BATCH, MOST_TOKENS, option
from secateur.spaces.decoder_sizes import MOST_VOCABULARY
from secateur.tables import read_trained
from secateur.writing import check_writable


@dataclass(frozen=True, kw_only=True)
class ProxySettings(ImageProxySettings):
    """The settings of `secateur bench proxies`."""

    to: Path | None = option(
        None, "Folder for scores, rankings and the page; scores already there are not computed again. A table needs it."
    )
    proxy: list[str] | None = option(None, "A proxy, or partial_training; repeat it for several. All by default.")
    source: list[str] | None = option(None, "Only rows of this source (random, homogeneous, search, …); repeat it for several.")
    partial: list[float] | None = option(
        None,
        "Percentage of the steps for partial training; repeat it for several. From 1.25 to 87.5 by default.",
        above=0,
        most=100,
    )
    text: str | None = option(
        None, "Real text for the proxies that need data: a file or a folder. Without it, random tokens are used."
    )
    tokenizer: str | None = option(None, "The text's tokenizer; without it one is trained on the text.")
    vocabulary: int | None = option(
        None, "Size of the networks' vocabulary; by default the table's column `vocabulary`.", least=2, most=MOST_VOCABULARY
    )
    batch: int = option(16, "Texts in the batch that proxies see.", least=2, most=MOST_BATCH)
    length: int = option(64, "Tokens per text.", least=2, most=MOST_TOKENS)
    seed: int = option(0, "The seed for initial weights, batch and bootstrap.", least=0, below=2**32)

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        if self.tokenizer is not None and self.text is None:
            found.append("`tokenizer` needs a text: give --text too.")
        return found + (no_folder(self.to) if self.to is not None else [])


def judge_proxies(path: Path, settings: ProxySettings, progress: Progress) -> ProxyStudy:
    """Score the networks of the table at `path` by each proxy, and judge it.

    Raises ConfigurationError for settings out of range or unknown proxies, DataError for a table or text that cannot be used.
    """
    names = proxy_names(settings.proxy or (), settings.partial or CUTS)
    s, to = settings.check(), settings.to
    if to is None:
        raise ConfigurationError("`to` must be given with a table: the folder for scores, rankings and the page.")
    read = read_trained(path)
    table = read.only(s.source) if s.source else read
    networks = table.averaged()
    try:
        check_writable(to)
    except OSError as error:
        raise _unwritable(to, error) from error
    material = gather(table, s.text, s.tokenizer, s.vocabulary, s.batch, s.length, s.seed)
    checked = count_notes(read, table.sources, material, names)
    try:
        with progress.bar("scoring networks") as advance:
            scores = score_table(networks, names, material, ScoreFile(to / SCORES), advance=advance)
    except OSError as error:
        raise _unwritable(
            to, error, f"What was scored is in {SCORES}: run the same command again to continue from there."
        ) from error
    judged = [judge(name, networks, scores[name], s.seed) for name in names]
    study = ProxyStudy(to, judged, table.ceiling(TRUE), [*notes(table, networks, material, judged), *checked])
    try:
        study.write(networks, scores)
    except OSError as error:
        echo(str(study).rpartition("\n")[0])  # without its last line, which says where the page is
        raise _unwritable(to, error, "The results are printed instead.") from error
    return study


def _unwritable(to: Path, error: OSError, more: str = "") -> ConfigurationError:
    return ConfigurationError(f"`to` cannot be written: `{to}`: {reason(error)}. {more}".rstrip())
