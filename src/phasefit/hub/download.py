"""Download a model from the hub: exactly the files that its manifest lists, as plain files, each checked.

A model is kept at HF_HOME/phasefit/OWNER--NAME@COMMIT, so a new commit never changes a folder that is in use. What a
branch or tag meant last is in OWNER--NAME@revisions.json, for HF_HUB_OFFLINE.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from phasefit.errors import ModelError, RunError
from phasefit.files import system
from phasefit.files.atomic import discard_tree, make_folders, new_folder, read_json, write_json
from phasefit.files.integrity import OPTIONAL
from phasefit.files.links import refuse_links
from phasefit.hub import library
from phasefit.hub.contents import MANIFESTS, open_folder
from phasefit.hub.names import COMMIT, HubName, is_hub_name, parse_hub_name

DOWNLOADS = "phasefit"  # in HF_HOME
LARGEST_MANIFEST = 64 << 20  # bytes
MAIN = "main"


def local_source(source: str | Path) -> str | Path:
    """The folder of a `hub:` model, downloaded if necessary; any other source is returned as it is.

    For a repository that is a plain encoder, this is its hub id.
    """
    return local_model(source)[0] if is_hub_name(source) else source


def local_model(source: str | Path) -> tuple[str | Path, HubName]:
    """The folder of a `hub:` model, or its hub id if it is a plain encoder, and its name with the commit."""
    name = parse_hub_name(source)
    downloads = library.home() / DOWNLOADS
    if name.is_pinned and (folder := _folder(downloads, name)).is_dir():
        return folder, name
    if library.is_offline():
        return _already_here(downloads, name)
    found = library.find(name.repository, name.revision)
    if found is None:
        raise ModelError(
            f"{name}: there is no such model on the hub, or you may not see it; check the name, or {library.LOGIN}"
        )
    if not COMMIT.fullmatch(found.commit):
        raise ModelError(f"{name}: the hub names no commit; try again later")
    pinned = name.at(found.commit)
    if not any(manifest in found.files for manifest in MANIFESTS):
        if name.revision is not None:
            raise ModelError(f"{name} is not a model of phasefit, and an encoder has no @revision; remove it")
        return name.repository, pinned
    folder = _folder(downloads, pinned)
    if not folder.is_dir():
        _download(pinned, found, folder)
    _remember(downloads, name, found.commit)
    return folder, pinned


def _download(name: HubName, found: library.Repository, folder: Path) -> None:
    """Download and check all files; the folder appears under its name only if everything is right."""
    manifest = next(one for one in MANIFESTS if one in found.files)
    try:
        make_folders(folder.parent)
        with new_folder(folder) as temporary, _named(name, temporary):
            _check_size(name, {manifest: found.files[manifest]}, LARGEST_MANIFEST)
            _fetch(name, [manifest], temporary)
            model = open_folder(temporary)
            wanted = [one for one in model.files if one in found.files or one not in OPTIONAL]
            _check_size(name, {one: found.files.get(one) for one in wanted}, shutil.disk_usage(temporary).free)
            _fetch(name, wanted, temporary)
            discard_tree(temporary / ".cache")  # notes of the library about the download
            refuse_links(temporary)
            replace(model, files={one: model.files[one] for one in wanted}).check()
    except OSError as error:
        raise ModelError(f"{name} cannot be written to '{folder}': {error.strerror or error}") from error


def _fetch(name: HubName, files: list[str], folder: Path) -> None:
    system.write(folder, lambda place: library.download(name.repository, str(name.revision), files, place))


@contextmanager
def _named(name: HubName, folder: Path) -> Iterator[None]:
    """Raise errors about a temporary folder with the name of the model instead."""
    try:
        yield
    except (ModelError, RunError) as error:
        raise ModelError(str(error).replace(str(folder), str(name))) from None


def _check_size(name: HubName, sizes: Mapping[str, int | None], limit: int) -> None:
    total = sum(size or 0 for size in sizes.values())
    if total > limit:
        raise ModelError(f"{name} needs {total:,} bytes for {len(sizes)} files, and at most {limit:,} are possible")


def _already_here(downloads: Path, name: HubName) -> tuple[str | Path, HubName]:
    """The folder that was downloaded before."""
    commit = name.revision if name.is_pinned else _remembered(downloads, name).get(name.revision or MAIN)
    pinned = name.at(commit) if commit else None
    if pinned is None or not (folder := _folder(downloads, pinned)).is_dir():
        raise ModelError(f"{name} is not on this machine and HF_HUB_OFFLINE is set; unset it, or give a local folder")
    return folder, pinned


def _remember(downloads: Path, name: HubName, commit: str) -> None:
    if not name.is_pinned:
        known = _remembered(downloads, name)
        if known.get(name.revision or MAIN) != commit:
            write_json(_revisions(downloads, name), {**known, name.revision or MAIN: commit})


def _remembered(downloads: Path, name: HubName) -> dict[str, str]:
    path = _revisions(downloads, name)
    content = read_json(path) if path.is_file() else {}
    if not isinstance(content, dict):
        return {}
    return {key: value for key, value in content.items() if isinstance(value, str) and COMMIT.fullmatch(value)}


def _folder(downloads: Path, pinned: HubName) -> Path:
    return downloads / f"{pinned.folder_name}@{pinned.revision}"


def _revisions(downloads: Path, name: HubName) -> Path:
    return downloads / f"{name.folder_name}@revisions.json"
