from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.events import Stage
from phasefit.models.encoder.inference import encode_rows
from phasefit.runs.plan import TIMED_ROWS, plan
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


def test_a_frozen_encoder_is_timed_without_encoding_every_row(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []

    def counted(encoder: object, tokens: object, rows: object, **options: object) -> object:
        encoded.append(len(rows))  # type: ignore[arg-type]
        return encode_rows(encoder, tokens, rows, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("phasefit.models.encoder.inference.encode_rows", counted)
    monkeypatch.setattr("phasefit.models.tokens.rows.encode_rows", counted)
    table = write_csv(tmp_path / "queries.csv", *make_table(200))
    settings = ("finetune.freeze=true", "finetune.max_steps=50")
    (finetune,) = plan(
        run_spec(table, model=str(tiny_folder), recipe="finetune", settings=settings), lambda _: None
    ).phases
    assert (finetune.rows, finetune.steps) == (140, 50)
    assert sum(encoded) <= TIMED_ROWS


def test_no_step_is_timed_after_the_time_is_up(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phasefit.runs.plan.TIMED_SECONDS", 0.0)
    steps: list[int] = []
    from phasefit.training import loop

    step = loop._step
    monkeypatch.setattr(loop, "_step", lambda *values: steps.append(1) or step(*values))
    table = write_csv(tmp_path / "queries.csv", *make_table(80))
    plan(run_spec(table, model=str(tiny_folder), recipe="finetune"), lambda _: None)
    assert len(steps) == 2


def test_a_solved_head_takes_no_steps(tiny_folder: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "queries.csv", *make_table(40))
    settings = ("finetune.freeze=true", "finetune.head=cosine", "finetune.solve=true", "finetune.ridge=auto")
    request = run_spec(table, model=str(tiny_folder), recipe="finetune", settings=settings)
    (finetune,) = plan(request, lambda _: None).phases
    assert finetune.steps == 0
    assert finetune.seconds > 0, "each text is encoded once"
