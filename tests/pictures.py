"""Read pictures in tests: the SVG next to each PNG contains its text."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from matplotlib.image import imread

SVG = "{http://www.w3.org/2000/svg}"


def words(path: Path) -> list[str]:
    """Return the texts of the SVG next to a picture."""
    return ["".join(text.itertext()) for text in ET.parse(path.with_suffix(".svg")).iter(f"{SVG}text")]


def pixels(path: Path) -> tuple[int, int]:
    """Return height and width of a picture; fail if it is blank or has no SVG."""
    picture = imread(path)
    assert picture.std() > 0
    assert path.with_suffix(".svg").exists()
    return picture.shape[0], picture.shape[1]
