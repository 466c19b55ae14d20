"""Push a folder with a manifest and a card to the hub, as one commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from phasefit.errors import ModelError
from phasefit.hub import library
from phasefit.hub.contents import CARD, ModelFolder, is_ours, pushed_files
from phasefit.hub.names import check_repository

UNUSED = (".gitattributes", CARD)  # in a repository that holds no model yet


@dataclass(frozen=True)
class PushOptions:
    """How a folder is pushed."""

    public: bool = False
    overwrite: bool = False
    report: bool = False  # also the report, which contains texts
    texts: bool = False  # also the training texts of an exported folder
    message: str = ""


@dataclass(frozen=True)
class Push:
    """The files of a push, and what it does to the repository."""

    repository: str
    add: dict[str, Path | bytes]
    options: PushOptions = field(default_factory=PushOptions)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return sum(len(one) if isinstance(one, bytes) else one.stat().st_size for one in self.add.values())


@dataclass(frozen=True)
class Pushed:
    """A finished push; `replaced` is the commit with the previous model, if there was one."""

    repository: str
    commit: str
    address: str
    private: bool
    replaced: str | None = None


def plan_push(model: ModelFolder, repository: str, card: str, options: PushOptions) -> Push:
    """Check a folder and its card, and list what would be pushed; needs no network."""
    repository = check_repository(repository)
    model.check()
    library.read_card(card)
    files = pushed_files(model, report=options.report, texts=options.texts)
    return Push(repository, {**files, CARD: card.encode()}, options)


def check_push(repository: str, options: PushOptions) -> library.Repository | None:
    """The repository to push to, or None if it is new; ModelError if the push would be refused."""
    repository = check_repository(repository)
    library.check_login(f"pushing to {repository}")
    found = library.find(repository)
    if found is None:
        return None
    if found.private == options.public:
        now, other = ("private", "remove --public") if found.private else ("public", "add --public")
        raise ModelError(f"{repository} on the hub is {now}; {other}, or choose another name")
    if not options.overwrite and any(name not in UNUSED for name in found.files):
        raise ModelError(
            f"{repository} on the hub already holds files; add --overwrite for a new commit (the old one is kept as "
            f"hub:{repository}@{found.commit[:12]}), or choose another name"
        )
    return found


def push(planned: Push) -> Pushed:
    """Create the repository if it is new, upload, and commit; the repository is unchanged if any of it fails."""
    repository, options = planned.repository, planned.options
    found = check_push(repository, options)
    if found is None:
        library.create(repository, private=not options.public)
        found = library.find(repository) or library.Repository("", not options.public, {})
        replaced = None
    else:
        replaced = found.commit if any(name not in UNUSED for name in found.files) else None
    done = library.commit(
        repository,
        planned.add,
        sorted(name for name in found.files if is_ours(name) and name not in planned.add),
        parent=found.commit or None,
        message=options.message or "Push a phasefit model",
    )
    _check_complete(repository, done.commit, planned.add)
    return Pushed(repository, done.commit, library.address(repository), found.private, replaced)


def _check_complete(repository: str, commit: str, names: Iterable[str]) -> None:
    """Raise ModelError if the hub left out a file, as a .gitignore in the repository makes it do."""
    found = library.find(repository, commit)
    missing = sorted(set(names) - set(found.files if found is not None else ()))
    if missing:
        raise ModelError(
            f"{repository}: the hub did not accept '{missing[0]}'; remove .gitignore from it, and push again"
        )
