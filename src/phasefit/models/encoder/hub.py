"""Models of the hub, fetched as plain folders: from the cache if they are there, else after one quick question.

Only what is safe to read is fetched: no pickled weights, no code.
"""

from __future__ import annotations

from phasefit.errors import ModelError

SECONDS = 10.0  # an unreachable hub must be a sentence soon, not a hang
WANTED = ["*.safetensors", "*.json", "*.txt", "*.model"]  # weights, configurations, vocabularies
UNWANTED = ["onnx/*", "openvino/*", "*/onnx/*"]


def fetch(name: str, hint: str = "") -> str:
    """The folder of a hub model on this machine."""
    from huggingface_hub import snapshot_download, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError as error:
        raise ModelError(
            f"model '{name}' is neither a folder here nor a valid hub id; give a folder or owner/name"
        ) from error
    if not cached:
        _check_reachable(name, hint)
    return str(snapshot_download(name, allow_patterns=WANTED, ignore_patterns=UNWANTED, local_files_only=cached))


def _check_reachable(name: str, hint: str) -> None:
    """Tell 'no such model' from 'no network', and spare the library's long retries."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, OfflineModeIsEnabled, RepositoryNotFoundError

    instead = f"give a local folder{hint}"
    try:
        HfApi().model_info(name, timeout=SECONDS)
    except GatedRepoError:
        raise ModelError(f"model '{name}' asks for a login: run `hf auth login` first, or {instead}") from None
    except RepositoryNotFoundError:
        raise ModelError(f"model '{name}': there is no such folder here and no such model on the hub") from None
    except OfflineModeIsEnabled:
        raise ModelError(f"model '{name}' is not on this machine and HF_HUB_OFFLINE is set; {instead}") from None
    except Exception as error:  # noqa: BLE001  the HTTP client, and so its errors, changed with each major release
        why = f"is not on this machine and the hub cannot be reached ({type(error).__name__})"
        raise ModelError(f"model '{name}' {why}; {instead}") from None
