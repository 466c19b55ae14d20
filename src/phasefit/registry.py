"""Registries of what recipes, options and commands can name, from phasefit and from other packages.

A registry maps names to objects, in order. An entry is the object itself or "module:attribute", which is imported on
first use; listing names imports nothing. Other packages add entries by calling `add`, or by declaring an entry point
in the registry's group, e.g. `phasefit.objectives`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Any, Generic, TypeVar, overload

from phasefit.errors import PhasefitError, PluginError, RecipeError, did_you_mean

T = TypeVar("T")
Added = TypeVar("Added")


class Registry(Generic[T]):
    """Named objects of one sort; `what` is their name in messages, `error` is raised for an unknown name.

    Entries must be instances or subclasses of `base`, if given. Entry points of `group` are looked up once, when the
    registry is first read.
    """

    def __init__(
        self,
        what: str,
        group: str,
        error: type[PhasefitError] = RecipeError,
        *,
        entries: Mapping[str, T | str] | None = None,
        base: type[Any] | None = None,
    ) -> None:
        self.what, self.group, self.error, self.base = what, group, error, base
        self._entries: dict[str, T | str | EntryPoint] = {**(entries or {})}
        self._sources: dict[str, str] = {}
        self._complete = False

    @overload
    def add(self, name: str, entry: Added) -> Added: ...
    @overload
    def add(self, name: str) -> Callable[[Added], Added]: ...
    def add(self, name: str, entry: Any = None) -> Any:
        """Register an object or "module:attribute"; without an entry, return a decorator that registers its target."""
        if entry is None:
            return partial(self.add, name)
        self._put(name, entry, "this program")
        return entry

    def remove(self, name: str) -> None:
        """Remove an entry, e.g. at the end of a test."""
        del self._all()[name]
        self._sources.pop(name, None)

    def get(self, name: str, where: str = "") -> T:
        """The entry with this name, imported if necessary; an unknown name raises `error`, starting with `where`."""
        entries = self._all()
        if not isinstance(name, str) or name not in entries:
            place = f"{where}: " if where else ""
            raise self.error(f"{place}unknown {self.what} '{name}'; {did_you_mean(str(name), entries)}")
        entry: Any = entries[name]
        if isinstance(entry, EntryPoint):
            entry = entries[name] = self._load(entry)
        elif isinstance(entry, str):
            entry = entries[name] = resolve_name(entry)
        loaded: T = entry
        return loaded

    def items(self) -> Iterator[tuple[str, T]]:
        """All names with their entries; imports every entry."""
        return ((name, self.get(name)) for name in self)

    def values(self) -> list[T]:
        """All entries; imports every one."""
        return [self.get(name) for name in self]

    def loadable(self) -> tuple[dict[str, T], dict[str, PluginError]]:
        """The entries that can be imported, and the errors of those that cannot, by name."""
        loaded: dict[str, T] = {}
        broken: dict[str, PluginError] = {}
        for name in self:
            try:
                loaded[name] = self.get(name)
            except PluginError as error:
                broken[name] = error
        return loaded, broken

    __getitem__ = get

    def __iter__(self) -> Iterator[str]:
        """Names in order: phasefit's, then those of other packages."""
        return iter(tuple(self._all()))

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, T | str | EntryPoint]:
        if not self._complete:
            before = self._entries.copy()
            try:
                for point in sorted(entry_points(group=self.group), key=lambda point: (_source(point), point.name)):
                    self._put(point.name, point, _source(point))
            except PluginError:
                self._entries = before  # the next access raises the same error
                raise
            self._complete = True
        return self._entries

    def _put(self, name: str, entry: Any, source: str) -> None:
        if name in self._entries:
            raise PluginError(
                f"{source} registers the {self.what} '{name}', which is already registered by "
                f"{self._sources.get(name, 'phasefit')}; rename one of them"
            )
        if not isinstance(entry, str | EntryPoint):
            self._check(name, entry, source)
        self._entries[name] = entry
        self._sources[name] = source

    def _load(self, point: EntryPoint) -> Any:
        try:
            entry = point.load()
        except Exception as error:  # another package's code may raise anything
            raise PluginError(
                f"the {self.what} '{point.name}' of {_source(point)} cannot be loaded: "
                f"{type(error).__name__}: {error}; fix, update or uninstall that package"
            ) from error
        self._check(point.name, entry, _source(point))
        return entry

    def _check(self, name: str, entry: object, source: str) -> None:
        base = self.base
        if base and not (isinstance(entry, base) or (isinstance(entry, type) and issubclass(entry, base))):
            raise PluginError(
                f"the {self.what} '{name}' of {source} must be a {base.__module__}.{base.__qualname__}, not {entry!r}"
            )


def _source(point: EntryPoint) -> str:
    """The name and version of the distribution that declares an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value
