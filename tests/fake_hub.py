"""A hub on loopback: the parts of its HTTP interface that huggingface_hub uses to push and load models."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_secretsecretsecret"
LARGE = (".safetensors", ".png", ".onnx", ".bin")  # stored as large files


@dataclass
class FakeRepository:
    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)  # files by commit, the last one is main
    messages: list[str] = field(default_factory=list)

    def add(self, files: dict[str, bytes], message: str) -> str:
        sha = hashlib.sha1(f"{len(self.commits)} {message} {sorted(files)}".encode()).hexdigest()
        self.commits[sha] = dict(files)
        self.messages.append(message)
        return sha

    @property
    def head(self) -> str:
        return list(self.commits)[-1]

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[self.head]

    def resolve(self, revision: str) -> str | None:
        return self.head if revision == "main" else next((sha for sha in self.commits if sha == revision), None)


@dataclass
class FakeHub:
    repositories: dict[str, FakeRepository] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    token: str = TOKEN
    read_only: bool = False
    break_uploads: bool = False  # the connection breaks during large files
    ignored: tuple[str, ...] = ()  # files that a .gitignore leaves out
    endpoint: str = ""

    def start(self) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"hub": self}))
        server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return server


class Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.route()

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - the names that http.server calls

    def route(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        body = self.body()
        for method, pattern, answer in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and self.command in method.split():
                getattr(self, answer)(body, *match.groups())
                return
        self.fail(404, "")

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    # --- answers

    def send(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def json(self, content: Any, status: int = 200) -> None:
        self.send(json.dumps(content).encode(), status, Content_Type="application/json")

    def fail(self, status: int, code: str, message: str = "") -> None:
        self.send(
            json.dumps({"error": message}).encode(),
            status,
            Content_Type="application/json",
            X_Error_Code=code,
            X_Error_Message=message,
        )

    # --- who may do what

    def may_write(self) -> bool:
        given = self.headers.get("Authorization")
        if given != f"Bearer {self.hub.token}":
            self.fail(401, "", "Invalid credentials in Authorization header")
            return False
        if self.hub.read_only:
            self.fail(403, "", "You need write access")
            return False
        return True

    def visible(self, name: str) -> FakeRepository | None:
        found = self.hub.repositories.get(name)
        given = self.headers.get("Authorization")
        if given is not None and given != f"Bearer {self.hub.token}":
            self.fail(401, "", "Invalid credentials in Authorization header")
            return None
        if found is None or (found.private and given is None):
            self.fail(404 if given else 401, "RepoNotFound", "Repository not found")
            return None
        return found

    # --- requests

    def whoami(self, _: bytes) -> None:
        if self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            self.fail(401, "", "Invalid credentials in Authorization header")
        else:
            self.json({"type": "user", "name": "alice", "orgs": []})

    def validate(self, body: bytes) -> None:
        self.json({"errors": [], "warnings": []})

    def create(self, body: bytes) -> None:
        if self.may_write():
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'alice'}/{asked['name']}"
            if name in self.hub.repositories:
                self.fail(409, "", "You already created this model repo")
                return
            private = asked.get("private", asked.get("visibility") == "private")
            self.hub.repositories[name] = made = FakeRepository(bool(private))
            made.add({".gitattributes": b""}, "initial commit")
            self.json({"url": f"{self.hub.endpoint}/{name}", "name": name})

    def info(self, _: bytes, name: str, revision: str | None) -> None:
        found = self.visible(name)
        if found is not None:
            sha = found.resolve(revision or "main")
            if sha is None:
                self.fail(404, "RevisionNotFound", "Invalid rev id")
                return
            files = [{"rfilename": path, "size": len(data)} for path, data in found.commits[sha].items()]
            self.json({"id": name, "modelId": name, "sha": sha, "private": found.private, "siblings": files})

    def tree(self, _: bytes, name: str, revision: str) -> None:
        found = self.visible(name)
        if found is not None:
            files = found.commits[found.resolve(revision) or found.head]
            self.json(
                [{"type": "file", "path": one, "size": len(data), "oid": "0" * 40} for one, data in files.items()]
            )

    def preupload(self, body: bytes, name: str) -> None:
        if self.may_write():
            answers = [
                {
                    "path": one["path"],
                    "uploadMode": "lfs" if one["path"].endswith(LARGE) else "regular",
                    "shouldIgnore": one["path"] in self.hub.ignored,
                    "oid": None,
                }
                for one in json.loads(body)["files"]
            ]
            self.json({"files": answers})

    def batch(self, body: bytes, name: str) -> None:
        if self.may_write():
            asked = json.loads(body)["objects"]
            new = [one for one in asked if one["oid"] not in self.hub.large]
            objects = [
                {**one, "actions": {"upload": {"href": f"{self.hub.endpoint}/large/{one['oid']}"}}} for one in new
            ]
            objects += [one for one in asked if one not in new]
            self.json({"transfer": "basic", "objects": objects})

    def put(self, body: bytes, oid: str) -> None:
        if self.hub.break_uploads:
            self.close_connection = True
            self.connection.close()
            return
        assert hashlib.sha256(body).hexdigest() == oid
        self.hub.large[oid] = body
        self.send(b"")

    def commit(self, body: bytes, name: str) -> None:
        if self.may_write():
            found = self.hub.repositories[name]
            files, message = dict(found.files), ""
            for line in body.splitlines():
                one = json.loads(line)
                value = one["value"]
                if one["key"] == "header":
                    message = value["summary"]
                    if value.get("parentCommit") not in (None, found.head):
                        self.fail(412, "", "A commit has happened since")
                        return
                elif one["key"] == "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                elif one["key"] == "lfsFile":
                    files[value["path"]] = self.hub.large[value["oid"]]
                else:
                    del files[value["path"]]
            sha = found.add(files, message)
            self.json({"success": True, "commitOid": sha, "commitUrl": f"{self.hub.endpoint}/{name}/commit/{sha}"})

    def resolve(self, _: bytes, name: str, revision: str, path: str) -> None:
        found = self.visible(name)
        if found is not None:
            sha = found.resolve(revision)
            data = found.commits[sha].get(path) if sha else None
            if data is None:
                self.fail(404, "EntryNotFound" if sha else "RevisionNotFound", "Entry not found")
                return
            self.send(data, X_Repo_Commit=str(sha), ETag=f'"{hashlib.sha256(data).hexdigest()}"')


NAME = r"([^/]+/[^/]+)"
ROUTES = (
    ("GET", "/api/whoami-v2", "whoami"),
    ("POST", "/api/validate-yaml", "validate"),
    ("POST", "/api/repos/create", "create"),
    ("POST", f"/api/models/{NAME}/preupload/main", "preupload"),
    ("POST", f"/api/models/{NAME}/commit/main", "commit"),
    ("GET", f"/api/models/{NAME}/tree/([^/]+).*", "tree"),
    ("GET", f"/api/models/{NAME}(?:/revision/(.+))?", "info"),
    ("POST", rf"/{NAME}\.git/info/lfs/objects/batch", "batch"),
    ("PUT", "/large/([0-9a-f]+)", "put"),
    ("GET HEAD", f"/{NAME}/resolve/([^/]+)/(.+)", "resolve"),
)
