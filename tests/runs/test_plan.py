from __future__ import annotations

from pathlib import Path

from phasefit.events import Stage
from phasefit.runs.plan import plan
from specs import run_spec
from tiny import make_table, write_csv


def test_a_plan_lists_the_phases_and_writes_nothing(tiny_folder: Path, tmp_path: Path, monkeypatch) -> None:
    table = write_csv(tmp_path / "queries.csv", *make_table(80))
    monkeypatch.chdir(tmp_path)
    stages: list[str] = []
    settings = (
        "denoise.epochs=3",
        "denoise.batch_size=8",
        "denoise.min_steps=1",
        "contrast.pairs=explicit",
        "contrast.objective=cosine",
    )
    request = run_spec(table, model=str(tiny_folder), settings=settings, out=tmp_path / "run")
    result = plan(request, lambda event: stages.append(event.name) if isinstance(event, Stage) else None)
    assert [phase.name for phase in result.phases] == ["denoise", "contrast", "finetune"]
    denoise, contrast, finetune = result.phases
    assert (denoise.rows, denoise.steps) == (56, 21)
    assert denoise.pairs is None
    assert contrast.pairs
    assert denoise.parameters > denoise.trained_parameters > finetune.rows
    assert all(phase.seconds > 0 for phase in result.phases)
    assert result.seconds == sum(phase.seconds for phase in result.phases)
    assert result.facts["rows"] == {"train": 56, "validation": 16, "test": 8}
    assert any("for the phases only" in note for note in result.notes)
    assert "timing denoise" in stages
    assert [path.name for path in tmp_path.iterdir()] == ["queries.csv"]


def test_a_plan_without_validation_rows(tiny_folder: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "queries.csv", *make_table(40))
    request = run_spec(table, model=str(tiny_folder), recipe="joint", validation_size=0.0, test_size=0.0)
    assert [phase.name for phase in plan(request, lambda _: None).phases] == ["joint", "finetune"]
