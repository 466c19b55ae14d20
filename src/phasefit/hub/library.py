"""huggingface_hub, wrapped: the only module of this package that imports it, and only when it is used.

Every failure becomes a ModelError of one sentence. The token is that of `hf auth login` or HF_TOKEN; it is neither
read by phasefit nor part of any message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError, PhasefitError

SECONDS = 10.0  # per request: an unreachable hub must be reported soon instead of hanging
LOGIN = "log in with `hf auth login`, or set HF_TOKEN"
LONGEST = 160  # characters of the library's message


@dataclass(frozen=True)
class Repository:
    """A repository on the hub at one commit: its files with their sizes (None if the hub does not state it)."""

    commit: str
    private: bool
    files: Mapping[str, int | None]


@dataclass(frozen=True)
class Commit:
    """A new commit."""

    url: str
    commit: str


def home() -> Path:
    """The folder of the hub's library for everything it downloads (HF_HOME)."""
    return Path(_library().constants.HF_HOME)


def is_offline() -> bool:
    """Whether HF_HUB_OFFLINE is set."""
    return bool(_library().constants.HF_HUB_OFFLINE)


def check_login(what: str) -> None:
    """Raise ModelError if the network is switched off, no one is logged in, or the token is not accepted."""
    hub = _library()
    if is_offline():
        raise ModelError(f"{what} needs the network, and HF_HUB_OFFLINE is set; unset it")
    if hub.get_token() is None:
        raise ModelError(f"{what} needs a token with write access; {LOGIN}")
    with _one_sentence(what):
        _api().whoami()


def find(repository: str, revision: str | None = None) -> Repository | None:
    """A repository at a revision (default: its main branch); None if there is none, or none that may be seen."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    name = f"hub:{repository}" + (f"@{revision}" if revision else "")
    with _one_sentence(name):
        try:
            info = _api().model_info(repository, revision=revision, timeout=SECONDS, files_metadata=True)
        except GatedRepoError:
            raise
        except RepositoryNotFoundError:
            return None
        except RevisionNotFoundError:
            raise ModelError(f"{name}: hub:{repository} has no such branch, tag or commit; check its name") from None
    files = {str(file.rfilename): file.size for file in info.siblings or ()}
    return Repository(str(info.sha), bool(info.private), files)


def download(repository: str, commit: str, names: Iterable[str], folder: Path) -> None:
    """Download these files of a repository into a folder, as plain files and without links."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    for name in names:
        with _one_sentence(f"hub:{repository}"), quiet():
            try:
                hf_hub_download(repository, name, revision=commit, local_dir=folder)
            except EntryNotFoundError:
                raise ModelError(f"hub:{repository} is incomplete: '{name}' is missing; push it again") from None


def create(repository: str, *, private: bool) -> None:
    """Create a repository for a model."""
    with _one_sentence(f"creating {repository} on the hub"):
        _api().create_repo(repository, repo_type="model", private=private, exist_ok=False)


def commit(
    repository: str,
    add: Mapping[str, Path | bytes],
    delete: Iterable[str] = (),
    *,
    parent: str | None,
    message: str,
) -> Commit:
    """Upload files, then make all changes in one commit on top of `parent`; nothing changes if any of it fails."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    operations: list[Any] = [CommitOperationAdd(name, content) for name, content in add.items()]
    operations += [CommitOperationDelete(name, is_folder=False) for name in delete]
    with _one_sentence(f"pushing to {repository}"), quiet():
        done = _api().create_commit(repository, operations, commit_message=message, parent_commit=parent, num_threads=1)
    return Commit(str(done.commit_url), str(done.oid))


def address(repository: str) -> str:
    """The page of a repository."""
    return f"{_library().constants.ENDPOINT}/{repository}"


def read_card(text: str) -> tuple[dict[str, Any], str]:
    """The front matter of a card, checked as the hub reads it, and the text below it."""
    from huggingface_hub import ModelCard

    if not text.startswith("---"):
        return {}, text
    try:
        card = ModelCard(text)
    except Exception as error:
        raise ModelError(f"README.md: its front matter is not valid ({_one_line(error)}); correct it") from error
    data: Any = card.data
    return dict(data.to_dict()), str(card.text)


def yaml_of(content: Mapping[str, Any]) -> str:
    """A mapping as YAML, in its own order."""
    return str(_library().utils.yaml_dump(dict(content), sort_keys=False))


@contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars of the library."""
    utils = _library().utils
    before = utils.are_progress_bars_disabled()
    utils.disable_progress_bars()
    try:
        yield
    finally:
        if not before:
            utils.enable_progress_bars()


@contextmanager
def _one_sentence(what: str) -> Iterator[None]:
    """Raise every error of the library as one ModelError; `what` is what was tried."""
    from huggingface_hub.errors import GatedRepoError, OfflineModeIsEnabled, RepositoryNotFoundError

    try:
        yield
    except (PhasefitError, MemoryError):
        raise
    except GatedRepoError:
        raise ModelError(f"{what} needs access that the owner grants on its page; ask for it, then {LOGIN}") from None
    except RepositoryNotFoundError:
        raise ModelError(f"{what}: there is no such model on the hub, or you may not see it; {LOGIN}") from None
    except OfflineModeIsEnabled:
        raise ModelError(f"{what} needs the network, and HF_HUB_OFFLINE is set; unset it") from None
    except Exception as error:  # noqa: BLE001  the HTTP client, and so its errors, changed with each major release
        raise ModelError(_refused(what, error)) from None


def _refused(what: str, error: Exception) -> str:
    """The sentence for any other error, by the hub's status if there was an answer."""
    status = _status(error)
    if status == 401:
        return f"{what}: the hub does not accept your token (401); {LOGIN} again"
    if status == 403:
        return f"{what}: your token does not allow it (403); use a token with write access to it"
    if status == 409:
        return f"{what}: it exists already (409); add --overwrite for a new commit"
    if status == 412:
        return f"{what}: someone else has changed it in the meantime (412); try again"
    if status == 429:
        return f"{what}: the hub refuses more requests for now (429); wait a few minutes"
    if status is not None:
        return f"{what}: the hub answers with status {status} ({_one_line(error)}); try again later"
    return f"{what}: the hub cannot be reached, or the connection broke ({_one_line(error)}); try again"


def _status(error: BaseException | None) -> int | None:
    """The HTTP status of an error or of the error that caused it."""
    while error is not None:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(status, int):
            return status
        error = error.__cause__
    return None


def _one_line(error: BaseException) -> str:
    """The start of the message of the first cause; anything that looks like a token is hidden."""
    while error.__cause__ is not None:
        error = error.__cause__
    text = " ".join(str(error).split()) or type(error).__name__
    text = re.sub(r"\bhf_\w+|Bearer \S+", "***", text)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _api() -> Any:
    return _library().HfApi(library_name="phasefit")


def _library() -> Any:
    for variable in ("HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"):  # read once, on import
        os.environ.setdefault(variable, str(int(SECONDS)))
    import huggingface_hub
    import huggingface_hub.constants
    import huggingface_hub.utils

    return huggingface_hub
