"""The names by which a server may be called.

A web page can point its own name at 127.0.0.1 and then read the answers of a local server as its own (DNS rebinding).
The header Host still has the name of the page, so names other than ours are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from phasefit.errors import PhasefitError

LOCAL = ("localhost", "127.0.0.1", "::1")
HOST = re.compile(r"(?:\[(?P<bracketed>[0-9a-f:.]+)\]|(?P<plain>[^:\[\]]+))(?::[0-9]{1,5})?")
NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|[0-9a-f.]*(?::[0-9a-f.]*){2,}")


def allowed_hosts(bound: str, more: Iterable[str]) -> frozenset[str]:
    """The names of this machine, the address that the server listens on, and those of --allow-host."""
    given = [name.lower() for name in more]
    for name in given:
        if not NAME.fullmatch(name):
            raise PhasefitError(
                f"--allow-host '{name}' is not the name of a host; give a name or an address without a port"
            )
    return frozenset({*LOCAL, bound.lower(), *given})


def host_name(header: bytes) -> str | None:
    """The name in a header Host, without the port; None if it is malformed."""
    match = HOST.fullmatch(header.decode("latin-1").strip().lower())
    return None if match is None else (match["bracketed"] or match["plain"].removesuffix("."))
