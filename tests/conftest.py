"""Property tests draw the same examples in every run; `HYPOTHESIS_PROFILE=explore pytest` draws new ones, and more of them.

Toys are computed with one thread: threads that wait for each other cost more than they bring, and most on a busy machine.
Toy runs of `secateur prune` and `secateur design` are made once, for all tests that only read them.
"""

from __future__ import annotations

import csv
import functools
import gc
import itertools
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch loads, here and in the processes that tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script: tests press Ctrl-C all the same
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(autouse=True)
def _repeatable() -> None:
    """A test draws the same numbers whichever tests ran before it in the process."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - libraries draw from it
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _libraries_are_no_garbage() -> Iterator[None]:
    """What is alive after a test (libraries, mostly) is left out of later collections: each would take a second otherwise."""
    yield
    gc.collect()
    gc.freeze()


# A server of PostgreSQL


class Server:
    """A PostgreSQL server in a folder of its own, to be stopped and started."""

    def __init__(self, programs: Path, folder: Path, user: str | None) -> None:
        self.programs, self.folder, self.user = programs, folder, user
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run("initdb", "-D", str(folder / "data"), "-U", "secateur", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        # Its own log is no pipe of ours: the server would keep it open.
        with open(os.devnull, "w") as nowhere:
            subprocess.run(
                [self.programs / program, *arguments],
                check=True,
                stdout=nowhere,
                stderr=nowhere,
                user=self.user,
                cwd=self.folder,
            )

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-o", options, "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "fast", "-w", "stop")

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://secateur@127.0.0.1:{self.port}/postgres"

    @property
    def socket_url(self) -> str:
        """Of the same server, by a socket in its folder."""
        return f"postgresql+psycopg://secateur@/postgres?host={self.folder}&port={self.port}"


def programs() -> Path | None:
    """Where PostgreSQL's programs are, or None."""
    on_path = shutil.which("initdb")
    places = [Path(on_path).resolve().parent] if on_path else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((p for p in places if (p / "initdb").exists() and (p / "pg_ctl").exists()), None)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("psycopg")
    found = programs()
    if found is None:
        pytest.skip("PostgreSQL is not installed here")
    user = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = next((p.pw_name for p in pwd.getpwall() if p.pw_name in ("postgres", "nobody")), None)
        if user is None:
            pytest.skip("PostgreSQL does not run as root, and there is no other user")
    with tempfile.TemporaryDirectory(prefix="secateur-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        try:
            made = Server(found, folder, user)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"PostgreSQL does not start here: {error}")
        try:
            yield made
        finally:
            made.stop()


def schema_of_its_own(url: str) -> Iterator[str]:
    import sqlalchemy

    name = f"secateur_{uuid.uuid4().hex[:12]}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
    engine.dispose()


@pytest.fixture
def postgres(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty schema: on the server that SECATEUR_POSTGRES names, or on one started here."""
    url = os.environ.get("SECATEUR_POSTGRES") or request.getfixturevalue("server").url
    yield from schema_of_its_own(url)


@pytest.fixture
def own_postgres(server: Server) -> Iterator[str]:
    """The URL of an empty schema on the server that the test may stop and start."""
    yield from schema_of_its_own(server.url)


# Toy runs

GOOD, BAD = ("fine", "lovely", "bright"), ("dull", "awful", "grey")
NOUNS = ("film", "plot", "cast", "song", "scene", "end", "start", "light")


def sentences() -> list[tuple[str, str]]:
    """96 sentences whose label is plain from one word."""
    rows = []
    for noun, (place, word) in itertools.product(NOUNS, enumerate(GOOD + BAD)):
        label = "good" if place < 3 else "bad"
        rows += [(f"a {word} {noun}", label), (f"the {noun} is {word} indeed", label)]
    return rows


#: A pruning run of seconds.
QUICK_PRUNE: dict[str, Any] = {
    "text": ["review"],
    "label": "verdict",
    "epochs": 8.0,
    "learning_rate": 3e-3,
    "order_epochs": 3.0,
    "order_learning_rate": 3e-3,
    "batch_size": 16,
    "trials": 6,
    "max_length": 16,
    "latency_length": 16,
    "polish_epochs": 1.0,
    "polish_at": ["50%", "90%"],
    "formats": False,
    "device": "cpu",
    "progress": False,
}
#: A design run of seconds.
QUICK_DESIGN: dict[str, Any] = {
    "layers": "1..3",
    "width": "16..48:16",
    "inner": "32..128:16",
    "heads": "2,4",
    "embedding": "8,16",
    "vocabulary": 60,
    "positions": 16,
    "length": 8,
    "trials": 60,
    "seconds": 0.05,
    "fit_seconds": 1.0,
    "most_measured": 6,
    "unsteady": True,
    "baselines": False,
    "progress": False,
}


@contextmanager
def measured_briefly() -> Iterator[None]:
    """Runs measure a latency for a moment, and watch whether the device is steady for a moment."""
    import secateur.estimators.forms as forms
    import secateur.runs.design.stages as design
    import secateur.runs.prune.measuring as prune

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prune, "SECONDS", 0.05)
        patch.setattr(forms, "SECONDS", 0.02)
        patch.setattr(design, "check_steady", functools.partial(design.check_steady, seconds=0.02))
        yield


@pytest.fixture(scope="module")
def brief() -> Iterator[None]:
    with measured_briefly():
        yield


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of 3 layers, 16 wide, with its tokenizer."""
    from secateur.testing.models import toy_model
    from secateur.testing.toy_tokenizer import toy_tokenizer

    folder = tmp_path_factory.mktemp("model") / "tiny-bert"
    toy_model("bert").save_pretrained(folder)
    toy_tokenizer([text for text, _ in sentences()], max_length=32).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def data_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("review", "verdict"))
        writer.writerows(sentences())
    return path


@pytest.fixture(scope="session")
def quick_prune(model_folder: Path, data_file: Path) -> Callable[..., Any]:
    """`secateur.prune` on toys, in seconds: `quick_prune(to, **changes)`."""
    import secateur
    from secateur.runs.prune.settings import PruneSettings

    def prune(to: Path, **changes: Any) -> Any:
        given = {"model": str(model_folder), "data": str(data_file), **QUICK_PRUNE, **changes}
        others = {"progress": given.pop("progress"), "to": to}
        return secateur.prune(**{**PruneSettings.effective(given), **changes, **others})

    return prune


@pytest.fixture(scope="session")
def language(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `quick_prune` is given for a Llama of 3 layers with key/value groups, and documents that count upwards."""
    import json

    from secateur.testing.models import toy_model
    from secateur.testing.toy_tokenizer import toy_tokenizer

    folder = tmp_path_factory.mktemp("language")
    words = [f"w{i}" for i in range(40)]
    toy_model("llama", "causal").save_pretrained(folder / "model")
    toy_tokenizer(words, pad=False, max_length=32).save_pretrained(folder / "model")
    documents = [" ".join(words[(start + i) % 40] for i in range(6 + start % 9)) for start in range(120)]
    for name, some in (("train", documents), ("validation", documents[3:40]), ("test", documents[50:80])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in some))
    given = {"model": str(folder / "model"), "data": str(folder), "text": "text", "label": None, "kind": None}
    return given | {"objectives": ["perplexity", "body_parameters"], "epochs": 1.0}


@pytest.fixture(scope="session")
def quick_design() -> Callable[..., Any]:
    """`secateur.design` on toys, in seconds: `quick_design(to, **changes)`."""
    import secateur

    def design(to: Path, **changes: Any) -> Any:
        return secateur.design(**{**QUICK_DESIGN, "to": to, **changes})

    return design


@pytest.fixture(scope="session")
def pruned(tmp_path_factory: pytest.TempPathFactory, quick_prune: Callable[..., Any]) -> Path:
    """The folder of a finished run of `secateur prune`: to be read only."""
    folder = tmp_path_factory.mktemp("runs") / "prune-001"
    with measured_briefly():
        quick_prune(folder).close()
    return folder


@pytest.fixture(scope="session")
def designed(tmp_path_factory: pytest.TempPathFactory, quick_design: Callable[..., Any]) -> Path:
    """The folder of a finished run of `secateur design`, with baselines of one and two layers: to be read only."""
    from secateur.runs.design import baselines

    folder = tmp_path_factory.mktemp("runs") / "design-001"
    with measured_briefly(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(baselines, "LAYERS", range(1, 3))
        quick_design(folder, baselines=True).close()
    return folder
