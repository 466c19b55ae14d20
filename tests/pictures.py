"""Reading pictures in tests: the SVG beside each PNG holds its words as words."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from matplotlib.image import imread

SVG = "{http://www.w3.org/2000/svg}"


def words(path: Path) -> list[str]:
    """What can be read in the SVG beside a picture."""
    return ["".join(text.itertext()) for text in ET.parse(path.with_suffix(".svg")).iter(f"{SVG}text")]


def pixels(path: Path) -> tuple[int, int]:
    """Height and width of a picture that is not blank and has an SVG beside it."""
    picture = imread(path)
    assert picture.std() > 0
    assert path.with_suffix(".svg").exists()
    return picture.shape[0], picture.shape[1]
