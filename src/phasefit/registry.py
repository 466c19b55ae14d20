"""Things by name that other packages can add to: directly, or through an entry point of an installed package."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from phasefit.errors import PhasefitError, RecipeError, did_you_mean

T = TypeVar("T")


class Registry(Generic[T]):
    """Named things in the order they were added, then those that installed packages bring.

    The names of entry points are read on first use; what one points to is imported when it is asked for.
    """

    def __init__(self, what: str, group: str, error: type[PhasefitError] = RecipeError) -> None:
        self.what, self.group, self.error = what, group, error
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> T:
        """Register an item under a name that is still free."""
        if name in self._items:
            raise self.error(f"there is already a {self.what} named '{name}'; choose another name")
        self._items[name] = item
        return item

    def remove(self, name: str) -> None:
        """Take back what `add` registered."""
        del self._items[name]

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self.group)}

    def __getitem__(self, name: str) -> T:
        """The item of that name; an error with the nearest name when there is none."""
        if name in self._items:
            return self._items[name]
        if name not in self._installed:
            raise self.error(f"unknown {self.what} '{name}'; {did_you_mean(name, self)}")
        point = self._installed[name]
        try:
            item: T = point.load()
        except Exception as error:  # a plugin may fail in any way
            package = point.dist.name if point.dist else point.value
            raise self.error(f"the {self.what} '{name}' of {package} cannot be loaded: {error}") from error
        return self._items.setdefault(name, item)

    def __contains__(self, name: object) -> bool:
        return name in self._items or name in self._installed

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys([*self._items, *self._installed])

    def __len__(self) -> int:
        return len({*self._items, *self._installed})

    def values(self) -> list[T]:
        """All items, which imports what installed packages bring."""
        return [self[name] for name in self]
