"""`save` keeps what a run keeps, and `recipe="auto"` in Python."""

from __future__ import annotations

import json
import pickle
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import phasefit
from phasefit import PhasefitWarning, RecipeError, TextClassifier, TextEncoder, TextRegressor
from phasefit.events import Event, Note, PhaseEnded, PhaseStarted, Scored, StepDone
from phasefit.files.atomic import read_json
from phasefit.runs.run import Run
from tiny import make_table

TEXTS, LABELS = make_table(40)
SETTINGS = {"finetune.max_steps": 2}
FILES = {
    *("README.md", "data.json", "encoder", "heads.safetensors", "history.json", "labels.json", "metrics.json"),
    *("phasefit.json", "recipe.toml", "report.html", "trained_on.safetensors"),
}


def make(folder: Path, **options: Any) -> TextClassifier:
    return TextClassifier(**{"recipe": "finetune", "model": str(folder), "settings": SETTINGS, **options})


@pytest.fixture(scope="module")
def fitted(tiny_folder: Path) -> TextClassifier:
    return make(tiny_folder, seed=3).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def saved(fitted: TextClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    fitted.save(folder)
    return folder


def test_a_saved_estimator_has_the_files_of_a_run(fitted: TextClassifier, saved: Path) -> None:
    assert {path.name for path in saved.iterdir()} == FILES
    run = Run.open(saved)
    assert run.metrics["validation"] == fitted.validation_metrics_
    assert run.recipe is not None
    assert run.recipe.phases[0].max_steps == 2
    assert (run.manifest["seed"], run.manifest["recipe"]) == (3, "finetune")
    assert run.manifest["data"]["rows"] == {"train": 32, "validation": 8}
    assert len(run.trained_texts)
    assert TextClassifier.load(saved).get_params() == fitted.get_params()


def test_a_loaded_estimator_keeps_them_also_in_place(saved: Path, tmp_path: Path) -> None:
    loaded = TextClassifier.load(saved)
    loaded.save(tmp_path / "copy")
    again = TextClassifier.load(tmp_path / "copy")
    again.save(tmp_path / "copy", overwrite=True)
    assert {path.name for path in (tmp_path / "copy").iterdir()} == FILES
    for name in ("metrics.json", "recipe.toml", "report.html", "README.md"):
        assert (tmp_path / "copy" / name).read_bytes() == (saved / name).read_bytes()
    assert Run.open(tmp_path / "copy").manifest["data"] == Run.open(saved).manifest["data"]


def test_the_report_is_optional_and_pickles_have_no_texts(fitted: TextClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "bare", report=False)
    assert FILES - {path.name for path in (tmp_path / "bare").iterdir()} == {"README.md", "report.html"}
    content = pickle.dumps(fitted)
    assert TEXTS[0].encode() not in content
    pickle.loads(content).save(tmp_path / "unpickled")  # noqa: S301 - our own bytes
    assert np.array_equal(
        TextClassifier.load(tmp_path / "unpickled").predict_proba(TEXTS[:3]), fitted.predict_proba(TEXTS[:3])
    )


# --- recipe="auto" ----------------------------------------------------------------------------------------------------


@pytest.fixture
def auto(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replaces the trials, which start processes, by a fixed choice; the calls that it gets."""
    from phasefit.studies.auto import report, run_auto

    calls: list[Any] = []

    def choose(spec: Any, minutes: float, listen: Any, *, out: Path | None = None) -> Any:
        calls.append((minutes, out))
        listen(SimpleNamespace(text="finetune on 20 rows: 0.9000 in 3 s"))
        return SimpleNamespace(spec=spec)

    def final(spec: Any, result: Any) -> Any:
        return spec.replace(recipe="finetune", settings=SETTINGS)

    monkeypatch.setattr(run_auto, "choose_recipe", choose)
    monkeypatch.setattr(run_auto, "final_spec", final)
    monkeypatch.setattr(report, "as_json", lambda result: json.dumps({"chosen": {"name": "finetune"}}))
    monkeypatch.setattr(report, "as_markdown", lambda result, command: "# trials\n")
    monkeypatch.setattr(report, "conclusion", lambda result: "Chosen: finetune.")
    return calls


def test_an_estimator_tries_recipes_and_trains_the_best(auto: list[Any], tiny_folder: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    options = {"recipe": "auto", "minutes": 2, "settings": None, "listener": events.append}
    classifier = make(tiny_folder, **options).fit(TEXTS, LABELS)
    assert auto[0][0] == 2
    assert not auto[0][1].exists(), "the trials are deleted"
    assert classifier.trials_ == {"chosen": {"name": "finetune"}}
    assert [phase["steps"] for phase in classifier.phases_] == [2]
    assert Note("Chosen: finetune.") in events
    classifier.save(tmp_path / "model", report=False)
    assert Run.open(tmp_path / "model").manifest["recipe"] == "finetune"
    with pytest.warns(PhasefitWarning, match="the trials do not use sample_weight"):
        make(tiny_folder, **options).fit(TEXTS, LABELS, np.linspace(0, 1, 40))


def test_train_writes_the_trials_into_the_run(auto: list[Any], tiny_folder: Path, tmp_path: Path) -> None:
    options = {"recipe": "auto", "model": tiny_folder, "report": False}
    run = phasefit.train((TEXTS, LABELS), **options, out=tmp_path / "run")
    assert auto == [(10.0, None)]
    assert read_json(run.folder / "auto.json") == {"chosen": {"name": "finetune"}}
    with pytest.raises(phasefit.RunError, match="already holds a run"):
        phasefit.train((TEXTS, LABELS), **options, out=tmp_path / "run")
    assert len(auto) == 1, "refused before the trials"


def test_minutes_without_auto_and_bad_minutes_are_refused(tiny_folder: Path) -> None:
    with pytest.raises(RecipeError, match=r'minutes is only for recipe="auto"'):
        make(tiny_folder, minutes=3).fit(TEXTS, LABELS)
    with pytest.raises(RecipeError, match="minutes must be a number above 0, not 0"):
        TextRegressor("auto", minutes=0).fit(TEXTS, [float(len(text)) for text in TEXTS])
    with pytest.raises(RecipeError, match=r'minutes is only for recipe="auto"'):
        phasefit.train((TEXTS, LABELS), recipe="finetune", minutes=3)
    with pytest.raises(RecipeError, match="recipe 'auto' is chosen by trials and cannot be used here"):
        TextEncoder("auto", model=str(tiny_folder)).fit(TEXTS)


def test_processes_of_trials_do_not_run_the_main_script_again() -> None:
    from phasefit.studies.processes import _without_main

    main = sys.modules["__main__"]
    before = dict(vars(main))
    with _without_main():
        assert vars(main).get("__file__") is None
        assert main.__spec__ is None
    assert vars(main) == before


@pytest.mark.long
@pytest.mark.slow
def test_auto_in_a_script_without_a_guard(tmp_path: Path, tiny_folder: Path) -> None:
    import subprocess

    script = tmp_path / "script.py"
    script.write_text(
        f"import phasefit\nprint('started')\ntexts, labels = {TEXTS * 3!r}, {LABELS * 3!r}\n"
        f"fitted = phasefit.TextClassifier('auto', minutes=1, model={str(tiny_folder)!r}).fit(texts, labels)\n"
        "print(fitted.trials_['chosen']['recipe'])\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("started") == 1
    assert [path.name for path in tmp_path.iterdir() if path.name != script.name and path.is_dir()] == []


# --- documentation ----------------------------------------------------------------------------------------------------


def test_the_listener_of_the_documentation_works(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", page, flags=re.S) if "def record" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    names["record"](PhaseStarted("finetune", 1, 1, 9, "macro_f1"))
    names["record"](StepDone("finetune", 1, 9, 0.1, 1.0, 1e-4, 0.1))
    names["record"](Scored("finetune", 1, 0.1, {"macro_f1": 0.5}, "macro_f1", improved=True))
    names["record"](PhaseEnded("finetune", 9, 3.0, 1, {}, stopped_early=False))
    names["record"](Note("a note"))
    assert names["scores"] == [("finetune", 1, 0.5, True)]
    assert capsys.readouterr().out.splitlines()[0] == "finetune: up to 9 steps, watching macro_f1"
