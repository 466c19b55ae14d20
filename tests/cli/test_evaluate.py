from __future__ import annotations

import json

import pandas as pd
import pytest

METRICS = {
    "rows": 2,
    "accuracy": 0.5,
    "accuracy_ci95": [0.1, 0.9],
    "per_class": {"[bold]": {"precision": 1.0, "recall": 0.5, "f1": 0.66, "support": 2}},
    "confusion": {"labels": ["[bold]", "good"], "matrix": [[1, 1], [0, 0]]},
}


@pytest.fixture
def scored(model, install):
    """What the fake evaluation was given."""
    given = []
    install("phasefit.runs.evaluation.score", score=lambda model, table, outputs, task: given.append(table) or METRICS)
    install(
        "phasefit.prepare.splitting",
        known_only=lambda table, space, unseen, notes: notes.append(unseen) or table,
        note_known=lambda tables, base, notes: None,
    )

    def draw_scores(folder, metrics, first_only):
        (folder / "confusion.png").write_bytes(b"png")
        return ["confusion.png"]

    install("phasefit.report.pictures", draw_scores=draw_scores)
    return given


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("text,label,prediction\nab,good,1\nabc,[bold],2\n")
    return str(path)


def test_tables(phasefit, scored, table):
    result = phasefit("evaluate", "run", table)
    assert result.exit_code == 0, result.output
    assert "0.5000 (0.1000 to 0.9000)" in result.stdout
    assert "[bold]" in result.stdout
    assert scored[0].labels == ["good", "[bold]"]
    assert "error" in result.stderr, "the decision about unknown labels is reported"
    assert "drop" in phasefit("evaluate", "run", table, "--unseen", "drop").stderr


def test_json(phasefit, scored, table):
    assert json.loads(phasefit("evaluate", "run", table, "--json").stdout) == METRICS


def test_a_folder_of_files(phasefit, scored, table, tmp_path, sentence):
    out = tmp_path / "new" / "scores"
    assert phasefit("evaluate", "run", table, "-o", str(out)).exit_code == 0
    assert json.loads((out / "metrics.json").read_text()) == METRICS
    assert (out / "confusion.png").exists()
    columns = list(pd.read_csv(out / "predictions.csv").columns)
    assert columns[:5] == ["text", "label", "prediction", "_prediction", "_probability"]
    assert "--overwrite" in sentence(phasefit("evaluate", "run", table, "-o", str(out)))
    assert phasefit("evaluate", "run", table, "-o", str(out), "--overwrite").exit_code == 0


def test_the_test_split_of_a_dataset(phasefit, scored, sentence):
    assert phasefit("evaluate", "run", "snips2").exit_code == 0
    assert len(scored[0]) == 700
    assert "train" in sentence(phasefit("evaluate", "run", "snips"))
    assert phasefit("evaluate", "run", "snips", "--split", "train").exit_code == 0


def test_labels_are_needed(phasefit, scored, tmp_path, sentence):
    (tmp_path / "in.csv").write_text("text\nhello\n")
    assert "--label" in sentence(phasefit("evaluate", "run", str(tmp_path / "in.csv")))


def test_a_file_in_the_folders_place(phasefit, scored, table, sentence):
    assert "is a file" in sentence(phasefit("evaluate", "run", table, "-o", table))
