"""Registries: names in order, lazy entries, entry points of other packages, and refused entries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from phasefit import registry
from phasefit.errors import DataError, PluginError, RecipeError
from phasefit.registry import Registry

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a distribution with one module and entry points on the path, as an installer would."""

    def _install(name: str, entry_points: str, module: str = "") -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
        (tmp_path / f"{name}_module.py").write_text(module, encoding="utf-8")
        monkeypatch.delitem(sys.modules, f"{name}_module", raising=False)

    monkeypatch.syspath_prepend(str(tmp_path))
    return _install


def made(**extra: object) -> Registry[object]:
    return Registry("fruit", "phasefit.fruits", entries={"apple": 1, "pear": "decimal:Decimal"}, **extra)


def test_names_are_in_order_and_entries_are_imported_on_first_use() -> None:
    fruits = made()
    assert (list(fruits), len(fruits), "pear" in fruits, "plum" in fruits) == (["apple", "pear"], 2, True, False)
    assert fruits["pear"] is Decimal
    assert dict(fruits.items()) == {"apple": 1, "pear": Decimal}


def test_entries_are_added_by_a_call_or_by_a_decorator_and_removed() -> None:
    fruits = made()
    fruits.add("plum", 3)
    fruits.add("fig", "math:pi")

    @fruits.add("cherry")
    def cherry() -> None: ...

    assert list(fruits) == ["apple", "pear", "plum", "fig", "cherry"]
    assert fruits.get("cherry") is cherry
    assert fruits.get("fig") == pytest.approx(3.14159, abs=1e-5)
    fruits.remove("plum")
    assert "plum" not in fruits


def test_an_unknown_name_gives_the_location_and_a_suggestion() -> None:
    with pytest.raises(RecipeError, match=r"^here: unknown fruit 'aple'; did you mean 'apple'\?$"):
        made().get("aple", "here")
    with pytest.raises(DataError, match=r"^unknown fruit 'xyz'; known: apple, pear$"):
        made(error=DataError).get("xyz")


def test_a_name_is_registered_once() -> None:
    fruits = made()
    with pytest.raises(PluginError, match="this program registers the fruit 'apple', which is already registered"):
        fruits.add("apple", 2)
    assert fruits["apple"] == 1


def test_entry_points_are_listed_without_being_imported(install: Install) -> None:
    install("orchard", "[phasefit.fruits]\nfig = orchard_module:fig\n", "fig = 'a fig'\n")
    fruits = made()
    assert list(fruits) == ["apple", "pear", "fig"]
    assert "orchard_module" not in sys.modules
    assert fruits.get("fig") == "a fig"


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("", "AttributeError: module 'orchard_module' has no attribute 'fig'"),
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("raise RuntimeError('rotten')", "RuntimeError: rotten"),
    ],
)
def test_a_broken_plugin_is_one_sentence_that_names_its_distribution(
    install: Install, module: str, reason: str
) -> None:
    install("orchard", "[phasefit.fruits]\nfig = orchard_module:fig\n", module)
    fruits = made()
    with pytest.raises(PluginError) as caught:
        fruits.get("fig")
    assert str(caught.value) == (
        f"the fruit 'fig' of orchard 1.0 cannot be loaded: {reason}; fix, update or uninstall that package"
    )
    assert fruits.get("apple") == 1


def test_two_packages_cannot_take_one_name(install: Install) -> None:
    install("orchard", "[phasefit.fruits]\nfig = orchard_module:fig\n")
    install("garden", "[phasefit.fruits]\nfig = garden_module:fig\n")
    fruits = made()
    for _ in range(2):  # the second access raises the same error
        with pytest.raises(
            PluginError, match=r"orchard 1\.0 registers the fruit 'fig', .* already registered by garden 1\.0"
        ):
            list(fruits)


def test_an_entry_of_the_wrong_type_is_refused(install: Install) -> None:
    install("orchard", "[phasefit.fruits]\nfig = orchard_module:fig\n", "fig = 'a fig'\n")
    fruits: Registry[object] = Registry("fruit", "phasefit.fruits", base=int)
    fruits.add("one", 1)
    fruits.add("flag", bool)
    with pytest.raises(PluginError, match=r"the fruit 'fig' of orchard 1\.0 must be a builtins\.int, not 'a fig'"):
        fruits.get("fig")
    with pytest.raises(PluginError, match=r"the fruit 'two' of this program must be a builtins\.int"):
        fruits.add("two", b"2")


@pytest.fixture
def colours(monkeypatch):
    points = {"blue": "colorsys:ONE_THIRD", "broken": "no_such_module:x"}
    groups = []

    def installed(group):
        groups.append(group)
        return [EntryPoint(name, value, group) for name, value in points.items()]

    monkeypatch.setattr(registry, "entry_points", installed)
    colours = Registry[float]("colour", "tests.colours")
    colours.add("red", 7.0)
    yield colours
    assert groups in ([], ["tests.colours"])  # read once, and only when needed


def test_items_keep_their_order_and_installed_ones_follow(colours):
    colours.add("green", 2.0)
    assert list(colours) == ["red", "green", "blue", "broken"]
    assert len(colours) == 4
    assert "blue" in colours
    assert "white" not in colours


def test_an_entry_point_is_imported_on_first_use(colours):
    assert colours["blue"] == pytest.approx(1 / 3)
    assert colours["red"] == 7.0  # added entries win


def test_an_unknown_name_gets_the_nearest_one(colours):
    with pytest.raises(RecipeError, match="unknown colour 'bleu'; did you mean 'blue'"):
        colours["bleu"]


def test_a_plugin_that_fails_is_named(colours):
    with pytest.raises(PluginError, match="the colour 'broken' of no_such_module:x cannot be loaded: ModuleNotFound"):
        colours["broken"]


def test_a_name_is_registered_once_and_can_be_removed(colours):
    with pytest.raises(PluginError, match="colour 'red', which is already registered by this program"):
        colours.add("red", 1.0)
    colours.remove("red")
    assert colours.add("red", 1.0) == colours["red"] == 1.0


def test_the_error_is_the_registrys_own():
    with pytest.raises(DataError, match="unknown shape 'x'"):
        Registry[int]("shape", "tests.shapes", DataError)["x"]


def test_values_are_all_items():
    shapes = Registry[int]("shape", "tests.shapes")
    shapes.add("square", 4)
    shapes.add("line", 1)
    assert shapes.values() == [4, 1]
