"""The classes of sentence-transformers, imported without scikit-learn.

sentence-transformers loads it for functions that phasefit does not call. Leaving it out saves about a second
of every command that loads a model. The functions still work: a stand-in imports the real one when it is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

PACKAGE, MODULE = "sklearn", "sklearn.metrics"


@contextmanager
def without_scikit_learn() -> Iterator[None]:
    """Stand-ins for scikit-learn in a block of imports; nothing happens if it is loaded already, or not installed."""
    spec = None if PACKAGE in sys.modules else find_spec(PACKAGE)
    if spec is None:
        yield
        return
    package, module = _StandIn(PACKAGE), _StandIn(MODULE)
    package.__spec__, package.__path__ = spec, []
    sys.modules |= {PACKAGE: package, MODULE: module}
    try:
        yield
    finally:
        for name, stand_in in ((PACKAGE, package), (MODULE, module)):
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]


class _StandIn(ModuleType):
    """A module of which every function imports the real one when it is called."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*values: Any, **named: Any) -> Any:
            return getattr(import_module(self.__name__), name)(*values, **named)

        return call


try:
    with without_scikit_learn():
        import_module("sentence_transformers")
except ImportError:  # a release that needs more of scikit-learn
    import_module("sentence_transformers")

from sentence_transformers import SentenceTransformer  # noqa: E402
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer  # noqa: E402

__all__ = ["Dense", "Normalize", "Pooling", "SentenceTransformer", "Transformer"]
