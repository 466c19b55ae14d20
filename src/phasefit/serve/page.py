"""The page at `/`: one file without external resources, and the policy that permits only its own script and style."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files


@cache
def page() -> tuple[bytes, dict[str, str]]:
    """The HTML and its headers."""
    html = files("phasefit.serve").joinpath("page.html").read_text(encoding="utf-8")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(html, 'script')}",
            f"style-src {_hashes(html, 'style')}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )
    return html.encode(), {"content-security-policy": policy}


def _hashes(html: str, tag: str) -> str:
    parts = re.findall(rf"<{tag}>(.*?)</{tag}>", html, flags=re.S)
    digests = (hashlib.sha256(part.encode()).digest() for part in parts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
