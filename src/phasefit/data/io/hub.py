"""Load datasets from the hub, named `hub:owner/name[:config]`. Only this module uses the network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.errors import DataError, MissingExtra

if TYPE_CHECKING:
    import pandas as pd

PREFIX = "hub:"
SECONDS = "10"  # per request: an unreachable hub must raise an error soon


def load_hub(source: str) -> dict[str, pd.DataFrame]:
    """The splits of a hub dataset as frames, with class names instead of class numbers."""
    name, _, config = source.removeprefix(PREFIX).partition(":")
    if not name:
        raise DataError(f"'{source}' names no dataset; write hub:owner/name or hub:owner/name:config")
    # huggingface_hub reads these once, on import.
    for variable in ("HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"):
        os.environ.setdefault(variable, SECONDS)
    try:
        import datasets
    except ImportError:
        raise MissingExtra("hub datasets need the datasets library; install it: pip install 'phasefit[hub]'") from None
    address = _address(name)
    if not Path(address).is_dir():
        _check_reachable(name)
    try:
        splits = datasets.load_dataset(address, config or None)
    except ConnectionError:
        raise DataError(
            f"{source} is not on this machine and the hub cannot be reached; "
            "unset HF_HUB_OFFLINE if it is set, or use a file"
        ) from None
    except (OSError, ValueError, RuntimeError, TypeError, KeyError, datasets.exceptions.DatasetsError) as error:
        raise DataError(f"{source}: the hub dataset cannot be loaded: {_one_line(error)}") from None
    return {split: frame_of(table) for split, table in splits.items()}


def frame_of(table: Any) -> pd.DataFrame:
    """A `datasets.Dataset` as a frame; class numbers become names, -1 (unlabelled) becomes None."""
    frame: pd.DataFrame = table.with_format(None).to_pandas()
    for column, feature in table.features.items():
        names = getattr(feature, "names", None)
        if names is not None and hasattr(feature, "int2str"):
            frame[column] = [names[int(code)] if code == code and code >= 0 else None for code in frame[column]]
    return frame


def _address(name: str) -> str:
    """The argument of `load_dataset` for a hub id; tests replace it with a local folder."""
    return name


def _check_reachable(name: str) -> None:
    """Distinguish 'no such dataset' from 'no network' by one quick request, without the library's long retries."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, OfflineModeIsEnabled, RepositoryNotFoundError

    try:
        HfApi().dataset_info(name, timeout=float(SECONDS))
    except GatedRepoError:
        raise DataError(f"hub:{name} requires a login; run `hf auth login` first") from None
    except RepositoryNotFoundError:
        raise DataError(f"hub:{name}: there is no such dataset on the hub; check the name") from None
    except OfflineModeIsEnabled:
        return  # the library then checks only its cache, which is quick
    except ValueError as error:
        raise DataError(f"hub:{name} is not a valid hub id: {_one_line(error)}") from None
    except Exception as error:  # noqa: BLE001  the HTTP client, and so its errors, changed with each major release
        raise DataError(
            f"hub:{name}: the hub cannot be reached ({_one_line(error)}); "
            "set HF_HUB_OFFLINE=1 to use a dataset that is already downloaded"
        ) from None


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:157] + "..."
