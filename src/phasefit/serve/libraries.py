"""Whether the libraries of the extra `serve` are installed; `app`, `server` and `metrics` import one each."""

from __future__ import annotations

from importlib.util import find_spec

from phasefit.errors import MissingExtra

NEEDED = {"fastapi": "FastAPI", "uvicorn": "uvicorn", "prometheus_client": "prometheus-client"}


def check_libraries() -> None:
    """Raise MissingExtra, before any model is loaded, if a library is missing."""
    missing = [title for name, title in NEEDED.items() if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"phasefit serve needs {' and '.join(missing)}; install it with: pip install 'phasefit[serve]'"
        )
