"""Datasets of the hub, only when asked for as `hub:owner/name[:config]`: the one file here that uses the network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.errors import DataError, MissingExtra

if TYPE_CHECKING:
    import pandas as pd

PREFIX = "hub:"
SECONDS = "10"  # per request: an unreachable hub must be a sentence soon, not a hang


def load_hub(source: str) -> dict[str, pd.DataFrame]:
    """The splits of a hub dataset as frames, class numbers turned into class names."""
    name, _, config = source.removeprefix(PREFIX).partition(":")
    if not name:
        raise DataError(f"'{source}' names no dataset; write hub:owner/name or hub:owner/name:config")
    # Read once when huggingface_hub is imported.
    for variable in ("HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"):
        os.environ.setdefault(variable, SECONDS)
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets of the hub need the library datasets: pip install 'phasefit[hub]'") from None
    address = _address(name)
    if not Path(address).is_dir():
        _check_reachable(name)
    try:
        splits = datasets.load_dataset(address, config or None)
    except ConnectionError:
        raise DataError(
            f"{source} is not on this machine and the hub cannot be asked; "
            "unset HF_HUB_OFFLINE if it is set, or give a file"
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
    """What `load_dataset` is given for a hub id; a test points it at a local folder."""
    return name


def _check_reachable(name: str) -> None:
    """One quick request: tells 'no such dataset' from 'no network', and spares the library's long retries."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, OfflineModeIsEnabled, RepositoryNotFoundError

    try:
        HfApi().dataset_info(name, timeout=float(SECONDS))
    except GatedRepoError:
        raise DataError(f"hub:{name} asks for a login: run `hf auth login` first") from None
    except RepositoryNotFoundError:
        raise DataError(f"hub:{name}: there is no such dataset on the hub") from None
    except OfflineModeIsEnabled:
        return  # the library then looks into its cache only, which is quick
    except ValueError as error:
        raise DataError(f"hub:{name} is no valid hub id: {_one_line(error)}") from None
    except Exception as error:  # noqa: BLE001  the HTTP client, and so its errors, changed with each major release
        raise DataError(
            f"hub:{name}: the hub cannot be reached ({_one_line(error)}); "
            "set HF_HUB_OFFLINE=1 to use a dataset that was downloaded before"
        ) from None


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:157] + "..."
