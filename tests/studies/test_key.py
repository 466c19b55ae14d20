"""What a key is made of: options that differ from their defaults, data, seed and protocol, and nothing else.

`PYTHONPATH=tests python tests/studies/test_key.py` records the defaults of all options in defaults.json.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from phasefit.models.encoder.locate import DEFAULT_MODEL
from phasefit.models.views import VIEWS
from phasefit.objectives import OBJECTIVES
from phasefit.phases import PHASES
from phasefit.phases.contrast.options import Balance
from phasefit.phases.contrast.options import Options as Contrast
from phasefit.prepare.specification import SplitSpec
from phasefit.recipes.recipe import Recipe
from phasefit.runs.specification import DEFAULTS, MachineSpec
from phasefit.studies import key
from phasefit.studies.cell import Cell
from phasefit.studies.key import NO_EFFECT, OUTPUT_ONLY, PROTOCOL, defaults, differing
from specs import run_spec

RECORD = Path(__file__).with_name("defaults.json")
HOW = "PYTHONPATH=tests python tests/studies/test_key.py"


@pytest.fixture(autouse=True)
def forget() -> None:
    """Tests write other content under one name."""
    key._of_source.cache_clear()


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "one.csv"
    path.write_text("text,label\na song,music\nsome rain,weather\n")
    return str(path)


def key_of(data: str, recipe: str = "contrast-finetune", **options: Any) -> str:
    return Cell("one", recipe, run_spec(data, recipe=recipe, **options)).key


def test_a_new_option_of_a_phase_leaves_keys_unchanged(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class MoreBalance(Balance):
        more: float = 0.5

    class MoreContrast(Contrast):
        more: str = "a"
        balance: MoreBalance = MoreBalance()

    settings = ("contrast.balance.noise=0.3",)
    before = key_of(table), key_of(table, settings=settings)
    monkeypatch.setitem(PHASES._all(), "contrast", MoreContrast)
    assert (key_of(table), key_of(table, settings=settings)) == before
    assert key_of(table, settings=("contrast.more=b",)) not in before


def test_a_new_nested_option_leaves_the_identity_unchanged() -> None:
    class MoreBalance(Balance):
        more: float = 0.5

    assert differing(Balance(noise=0.3)) == differing(MoreBalance(noise=0.3)) == {"noise": 0.3}
    assert differing(MoreBalance(more=0.6)) == {"more": 0.6}


def test_a_new_option_of_a_run_leaves_keys_unchanged(table: str) -> None:
    @dataclass(frozen=True)
    class MoreSplit(SplitSpec):
        more: int = 3

    @dataclass(frozen=True)
    class MoreMachine(MachineSpec):
        more_cores: int = 3

    spec = run_spec(table, recipe="contrast-finetune", rows=100)
    before = Cell("one", "v", spec).key
    assert Cell("one", "v", replace(spec, split=MoreSplit(rows=100))).key == before
    assert Cell("one", "v", replace(spec, split=MoreSplit(rows=100, more=4))).key != before
    assert Cell("one", "v", replace(spec, machine=MoreMachine())).key == before
    assert Cell("one", "v", replace(spec, machine=MoreMachine(more_cores=4))).key != before


def test_an_option_that_is_set_to_its_default_is_not_part_of_the_key(table: str) -> None:
    assert key_of(table, "finetune", validation_size=0.2, settings=("finetune.warmup=0.1",)) == key_of(
        table, "finetune"
    )
    assert Cell("one", "v", run_spec(table)).identity()["recipe"] == {"name": DEFAULTS["recipe"], "version": 4}


def test_unlabelled_texts_and_the_version_of_a_phase_count(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Cell("one", "v", run_spec(table, unlabelled=table)).identity()["recipe"]
    assert own == {"name": DEFAULTS["recipe"], "version": 4, "with_texts": key.WITH_TEXTS}
    before = key_of(table, "self-train"), key_of(table, "finetune")
    monkeypatch.setitem(key.PHASE_VERSIONS, "self-train", 3)
    assert key_of(table, "self-train") != before[0]
    assert key_of(table, "finetune") == before[1]


def test_the_protocol_counts_and_versions_do_not(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(table)
    monkeypatch.setattr("phasefit.files.manifest.version", lambda package: "99.0")
    assert key_of(table) == before
    monkeypatch.setattr(key, "PROTOCOL", PROTOCOL + 1)
    assert key_of(table) != before


def test_the_version_of_a_baseline_changes_only_its_own_keys(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("frozen", "tfidf", "majority", "few-shot", "finetune", DEFAULTS["recipe"])
    before = {name: key_of(table, name) for name in names}
    identity = Cell("one", "frozen", run_spec(table, recipe="frozen")).identity()
    assert identity["recipe"] == {"name": "frozen", "version": 2}, "its C is chosen by cross-validation since version 2"
    assert Cell("one", "tfidf", run_spec(table, recipe="tfidf")).identity()["recipe"] == {"name": "tfidf"}
    monkeypatch.setitem(key.BASELINE_VERSIONS, "frozen", 3)
    assert [name for name in names if key_of(table, name) != before[name]] == ["frozen"]


def test_the_threads_given_by_the_pool_do_not_count(table: str) -> None:
    cell = Cell("one", "v", run_spec(table, recipe="finetune"))
    assert Cell("one", "v", cell.spec, threads=3).key == cell.key
    assert "--threads 3" in Cell("one", "v", cell.spec, threads=3).command()
    assert key_of(table, "finetune", threads=3) != cell.key


def test_a_file_that_a_recipe_names_counts_by_its_content(table: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    for path in (first, second):
        path.write_text("label,text\nmusic,a song\nweather,rain\n")
    assert len({key_of(table, settings=(f'contrast.class_texts="{path}"',)) for path in (first, second)}) == 1
    second.write_text("label,text\nmusic,a tune\nweather,rain\n")
    assert len({key_of(table, settings=(f'contrast.class_texts="{path}"',)) for path in (first, second)}) == 2


def test_a_task_file_counts_by_its_content_and_that_of_its_tables(table: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.csv"
    copy.write_bytes(Path(table).read_bytes())
    texts = {
        "one": f'[[task]]\nname = "a"\ndata = "{table}"\n',
        "commented": f'# the same\n[[task]]\nname = "a"\ndata = "{copy}"\n',
        "weighted": f'[[task]]\nname = "a"\ndata = "{table}"\nweight = 2\n',
    }
    keys = {}
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text)
        keys[name] = key_of(str(tmp_path / f"{name}.toml"), "multitask")
    assert keys["one"] == keys["commented"] != keys["weighted"]


def test_no_default_changes_under_one_protocol() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    known, now = record["defaults"], all_defaults()
    for name in {*known} & {*now} if record["protocol"] == PROTOCOL else ():
        assert now[name] == known[name], (
            f"the default of {name} was {known[name]!r} and is {now[name]!r}: results may change, so raise PROTOCOL or "
            f"the version of the phase in phasefit/studies/key.py, then record the defaults with: {HOW}"
        )
    news, gone = sorted({*now} - {*known}), sorted({*known} - {*now})
    assert not news, f"{', '.join(news)}: new; if the default does what was done before, only record it with: {HOW}"
    assert not gone, f"{', '.join(gone)}: gone; raise PROTOCOL if results may change, then record it with: {HOW}"
    assert record["protocol"] == PROTOCOL, f"PROTOCOL was raised; record the defaults with: {HOW}"


def all_defaults() -> dict[str, Any]:
    """The default of every option of a run, by name."""
    shown = (*OUTPUT_ONLY, *NO_EFFECT, "data", "out")
    content = {f"run.{name}": value for name, value in DEFAULTS.items() if name not in shown}
    content |= {f"recipe.{name}": defaults(Recipe)[name] for name in ("max_length", "prompt", "long")}
    for kind, options in PHASES.items():
        content |= {f"{kind}.{path}": value for path, value in leaves(options)}
    for what, registry in (("objective", OBJECTIVES), ("view", VIEWS)):
        for name in registry:
            for parameter in inspect.signature(registry[name]).parameters.values():
                if parameter.default is not parameter.empty:
                    content[f"{what} {name}.{parameter.name}"] = parameter.default
    plain: dict[str, Any] = json.loads(json.dumps({**content, "model": DEFAULT_MODEL}, default=str, sort_keys=True))
    return plain


def leaves(options: Any) -> Iterator[tuple[str, Any]]:
    """Options with those inside of them; `options` is a class or an instance whose values are the defaults."""
    for name, default in defaults(options).items():
        value = default if isinstance(options, type) else getattr(options, name)
        if isinstance(value, BaseModel):
            yield from ((f"{name}.{path}", inner) for path, inner in leaves(value))
        elif name != "kind":
            yield name, value


def record() -> None:
    """Write defaults.json, unless a default changed under one protocol."""
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {"protocol": 0, "defaults": {}}
    now = all_defaults()
    changed = [name for name in now if name in known["defaults"] and now[name] != known["defaults"][name]]
    if changed and known["protocol"] == PROTOCOL:
        raise SystemExit(
            f"the default of {', '.join(changed)} changed: raise PROTOCOL in phasefit/studies/key.py first"
        )
    RECORD.write_text(json.dumps({"protocol": PROTOCOL, "defaults": now}, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    record()
