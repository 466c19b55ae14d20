"""Names of models on the hub: `hub:owner/name`, or `hub:owner/name@revision` for a branch, a tag or a commit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from phasefit.errors import ModelError

PREFIX = "hub:"
REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
REVISION = re.compile(r"[A-Za-z0-9][\w./-]{0,199}", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubName:
    """A repository and, if given, one of its revisions."""

    repository: str
    revision: str | None = None

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a commit, which never changes."""
        return self.revision is not None and COMMIT.fullmatch(self.revision) is not None

    @property
    def folder_name(self) -> str:
        """The repository as one part of a path."""
        return self.repository.replace("/", "--")

    def at(self, commit: str) -> HubName:
        """The same model at a commit."""
        return HubName(self.repository, commit)

    def __str__(self) -> str:
        """The name as it is typed."""
        return f"{PREFIX}{self.repository}" + (f"@{self.revision}" if self.revision else "")


def is_hub_name(source: object) -> bool:
    """Whether a source names a model on the hub; a local folder with such a name must be given with ./ before it."""
    return isinstance(source, str | Path) and str(source).startswith(PREFIX)


def parse_hub_name(source: str | Path) -> HubName:
    """The parts of `hub:owner/name[@revision]`; ModelError if it is anything else."""
    repository, at, revision = str(source).removeprefix(PREFIX).partition("@")
    wrong = f"'{source}' does not name a model on the hub; write hub:owner/name or hub:owner/name@revision"
    if not is_repository(repository) or (at and (not REVISION.fullmatch(revision) or ".." in revision)):
        raise ModelError(wrong)
    return HubName(repository, revision or None)


def is_repository(name: str) -> bool:
    """Whether this is `owner/name` as the hub accepts it."""
    return (
        REPOSITORY.fullmatch(name) is not None
        and not any(part in name for part in ("--", ".."))
        and not any(part.endswith((".", "-", ".git")) for part in name.split("/"))
    )


def check_repository(name: str) -> str:
    """The repository to push to; ModelError if it is not `owner/name`. The prefix `hub:` may be given."""
    repository = name.removeprefix(PREFIX)
    if not is_repository(repository):
        raise ModelError(f"'{name}' cannot be the name of a model on the hub; write owner/name")
    return repository
