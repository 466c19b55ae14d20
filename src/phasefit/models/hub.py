"""Models of the hub: from the cache if they are there, else one quick question before any download."""

from __future__ import annotations

from phasefit.errors import ModelError

SECONDS = 10.0  # an unreachable hub must be a sentence soon, not a hang


def is_cached(name: str) -> bool:
    """Whether a hub model's files were downloaded before; its configuration stands for all."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError as error:
        raise ModelError(f"model '{name}' is neither a folder here nor a valid hub id") from error


def check_reachable(name: str, hint: str = "") -> None:
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
        why = type(error).__name__
        raise ModelError(
            f"model '{name}' is not on this machine and the hub cannot be reached ({why}); {instead}"
        ) from None
