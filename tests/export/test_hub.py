"""Pushing to a hub: the real client against a stand-in on the loopback address, and what is refused before anything is sent."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import torch

import secateur
from secateur.errors import ConfigurationError, ExportError
from secateur.export.hub import push
from secateur.runs.folder import open_run
from secateur.verbs.export import export


class Hub(BaseHTTPRequestHandler):
    """What of a hub an upload speaks to. Large files go by git-lfs, the others in the commit."""

    server: Any

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        hub = self.server
        if self.headers.get("Authorization") != "Bearer good":
            return self.answer({"error": "no"}, 401)
        if self.path == "/api/repos/create":
            hub.created.append(json.loads(body))
            name = f"{hub.created[-1]['organization'] or 'me'}/{hub.created[-1]['name']}"
            return self.answer({"url": f"{hub.url}/{name}", "name": name})
        if "/preupload/" in self.path:
            files = json.loads(body)["files"]
            modes = {True: "lfs", False: "regular"}
            found = [{"path": f["path"], "uploadMode": modes[f["size"] > 20_000], "shouldIgnore": False} for f in files]
            return self.answer({"files": found})
        if self.path.endswith("/info/lfs/objects/batch"):
            given = json.loads(body)["objects"]
            upload = [{**o, "actions": {"upload": {"href": f"{hub.url}/lfs/{o['oid']}", "header": {}}}} for o in given]
            return self.answer({"transfer": "basic", "objects": upload})
        if "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                value = line["value"]
                if line["key"] == "file":
                    hub.files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "lfsFile":
                    hub.files[value["path"]] = hub.large[value["oid"]]
            return self.answer({"commitUrl": f"{hub.url}/me/tiny/commit/{40 * '0'}", "commitOid": 40 * "0"})
        return self.answer({})  # the card's header is checked by the hub; nothing is wrong with it

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.large[hashlib.sha256(body).hexdigest()] = body
        self.answer({})

    def answer(self, found: dict[str, Any], status: int = 200) -> None:
        text = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def hub(monkeypatch):
    """A hub that knows one token, `good`; the client's environment names it."""
    from huggingface_hub import constants
    from huggingface_hub.utils import close_session

    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.created, server.files, server.large = [], {}, {}
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", "good")
    close_session()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    close_session()


def test_what_is_pushed_loads_and_gives_the_same_outputs(pruned, hub, tmp_path):
    member = open_run(pruned).front[-1]
    assert member.push("me/tiny", private=True) == f"{hub.url}/me/tiny"
    assert hub.created == [{"name": "tiny", "organization": "me", "visibility": "private"}]
    assert hub.large  # some went by git-lfs
    assert hub.files["README.md"].decode().count("# tiny") == 1
    member.save(tmp_path / "tiny")
    assert hub.files.keys() == {str(p.relative_to(tmp_path / "tiny")) for p in (tmp_path / "tiny").rglob("*") if p.is_file()}
    for name, content in hub.files.items():
        (tmp_path / "fetched" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fetched" / name).write_bytes(content)
    tokens = torch.tensor([[2, 5, 6, 3]])
    logits = [secateur.load(tmp_path / name).eval()(tokens).logits for name in ("tiny", "fetched")]
    assert torch.equal(*logits)


def test_the_command_keeps_the_folder_where_one_is_named(pruned, hub, tmp_path):
    found = export(pruned, under=["body_parameters=90%"], push="tiny", to=tmp_path / "kept")
    assert found.url == f"{hub.url}/me/tiny"
    assert hub.created == [{"name": "tiny", "organization": None}]  # public, or as the hub has it
    assert (tmp_path / "kept" / "README.md").is_file()
    assert str(found).startswith(found.url)


def test_what_a_training_left_is_not_pushed(hub, tmp_path):
    for name in ("config.json", "logs/events", ".training.1-abcdef.unfinished/steps/model"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    push(tmp_path, "me/tiny")
    assert hub.files.keys() == {"config.json"}


def test_one_line_for_what_cannot_be_pushed(pruned, hub, monkeypatch):
    from huggingface_hub import constants

    member = open_run(pruned).front[-1]
    with pytest.raises(ConfigurationError, match="`a/b/c` is not a valid name on a hub"):
        member.push("a/b/c")
    with pytest.raises(ExportError, match=r"the hub refuses to write `me/tiny`: this token has no write access \(401\)"):
        member.push("me/tiny", token="bad")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(ExportError, match=r"there is no token for the hub. Log in with `hf auth login`, or set HF_TOKEN\."):
        member.push("me/tiny")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ExportError, match=r"`http://127.0.0.1:9` cannot be reached: .*refused") as raised:
        member.push("me/tiny", token="good")
    assert "\n" not in str(raised.value)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ExportError, match="HF_HUB_OFFLINE is set"):
        member.push("me/tiny", token="good")
    assert hub.files == {}


def test_private_without_push_is_refused(pruned, tmp_path):
    with pytest.raises(ConfigurationError, match="only apply to --push NAME"):
        export(pruned, under=["body_parameters=90%"], to=tmp_path / "x", private=True)
