"""Files of other file systems, such as s3://bucket/data/*.parquet. The only file that imports fsspec."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Any, cast

from phasefit.control_characters import one_line
from phasefit.errors import DataError, MissingExtra

MARK = "://"


def is_remote(source: str) -> bool:
    """Whether this is an address, not a path."""
    return MARK in source


@dataclass(frozen=True)
class RemoteFile:
    """What readers need of a path: its name and its content."""

    url: str

    @property
    def name(self) -> str:
        """The last part of the address."""
        return PurePosixPath(self.url.partition(MARK)[2]).name

    def open(self, mode: str = "rb") -> IO[bytes]:
        """The content; it can be read from any position."""
        system, path = _system(self.url)
        try:
            return cast(IO[bytes], system.open(path, mode))
        except Exception as error:  # noqa: BLE001 - every file system has its own errors
            raise _unreadable(self.url, error) from None

    def version(self) -> tuple[int, str]:
        """Its size, and a key that changes with its content."""
        system, path = _system(self.url)
        try:
            return int(system.size(path) or 0), str(system.ukey(path))
        except Exception as error:  # noqa: BLE001 - every file system has its own errors
            raise _unreadable(self.url, error) from None


def find_remote(url: str) -> list[str]:
    """The addresses of the files that a pattern, a folder or an address stands for."""
    system, path = _system(url)
    try:
        if any(mark in path for mark in "*?["):
            found = system.glob(path)
        else:
            found = system.find(path) if system.isdir(path) else [path]
    except Exception as error:  # noqa: BLE001 - every file system has its own errors
        raise _unreadable(url, error) from None
    return sorted(str(system.unstrip_protocol(name)) for name in found)


def _system(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise MissingExtra(
            f"'{one_line(url)}' needs fsspec and the package of its file system; install them: "
            "pip install 'phasefit[remote]'"
        ) from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingExtra(f"'{one_line(url)}' cannot be read: {one_line(error)}") from None
    except ValueError as error:
        raise DataError(f"'{one_line(url)}' cannot be read: {one_line(error)}") from None
    return system, str(path)


def _unreadable(url: str, error: Exception) -> DataError:
    reason = "there is no such file" if isinstance(error, FileNotFoundError) else one_line(error)
    return DataError(f"'{one_line(url)}' cannot be read: {reason[:160]}; check the address and your access to it")
