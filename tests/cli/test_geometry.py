from __future__ import annotations

import json
import subprocess
import sys

import pytest

STORED = {
    "before training": {"texts": 20, "uniformity": -3.0, "anisotropy": 0.25},
    "finetune": {"texts": 20, "uniformity": -2.0, "anisotropy": 0.5, "confidence_entropy": 0.125},
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A finished run, without weights."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "phasefit.json").write_text(json.dumps({"format": 1, "status": "finished", "heads": {}}))
    (folder / "metrics.json").write_text(json.dumps({"phases": [], "geometry": STORED}))
    (folder / "labels.json").write_text("{}")
    return folder


@pytest.fixture
def measured(monkeypatch):
    """What the fake measurement was given."""
    from phasefit.runs.evaluation import geometry

    given = []

    def measure(run, sample, *, warn, counting, device, batch_size):
        with counting("before training") as progress:
            progress(len(sample))
        warn("something is missing")
        given.append(sample)
        return STORED

    monkeypatch.setattr(geometry, "measure", measure)
    return given


def test_what_the_run_stored(phasefit, run):
    result = phasefit("geometry", "run")
    assert result.exit_code == 0, result.output
    assert "before training" in result.stdout
    assert "confidence entropy" in result.stdout
    assert "0.1250" in result.stdout
    assert "silhouette" not in result.stdout
    assert json.loads(phasefit("geometry", "run", "--json").stdout) == STORED


def test_the_picture(phasefit, run, tmp_path, sentence):
    out = tmp_path / "new" / "shape"
    result = phasefit("geometry", "run", "-o", str(out))
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} == {"geometry.json", "geometry.png", "geometry.svg"}
    assert json.loads((out / "geometry.json").read_text()) == STORED
    assert "--overwrite" in sentence(phasefit("geometry", "run", "-o", str(out)))
    assert not phasefit("geometry", "run", "-o", str(out), "--overwrite", "--quiet").stderr


def test_showing_and_drawing_need_no_torch(run, tmp_path):
    code = (
        "import sys\n"
        f"sys.argv = ['phasefit', 'geometry', {str(run)!r}, '-o', {str(tmp_path / 'shape')!r}]\n"
        "from phasefit.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "sys.exit('torch' if 'torch' in sys.modules else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_table_with_labels_that_the_run_never_saw(phasefit, run, measured, tmp_path):
    (tmp_path / "in.csv").write_text("text,label\nab,new\nabc,other\nx,new\n")
    result = phasefit("geometry", "run", "in.csv")
    assert result.exit_code == 0, result.output
    assert measured[0].texts == ["ab", "abc", "x"]
    assert measured[0].codes.tolist() == [0, 1, 0]
    assert "warning: something is missing" in result.stderr


def test_a_table_without_labels(phasefit, run, measured, tmp_path):
    (tmp_path / "in.csv").write_text("text\nab\nabc\n")
    result = phasefit("geometry", "run", "in.csv")
    assert result.exit_code == 0, result.output
    assert measured[0].codes.tolist() == [-1, -1]
    assert "figures that need labels are skipped" in result.stderr
    assert "only figures" not in phasefit("geometry", "run", "in.csv", "--quiet").stderr


def test_pairs_by_their_usual_names(phasefit, run, measured, tmp_path):
    (tmp_path / "in.csv").write_text("sentence1,sentence2,label\nab,abc,1\nx,y,0\n")
    result = phasefit("geometry", "run", "in.csv")
    assert result.exit_code == 0, result.output
    assert measured[0].texts == ["ab", "x"]
    assert measured[0].positives == ["abc"], "the other pair does not belong together"
    assert measured[0].anchors.tolist() == [0]
    assert measured[0].codes.tolist() == [-1, -1], "labels are of the pair"
    assert "1 of 2 pairs belong together (label '1'); alignment is over these" in " ".join(result.stderr.split())


def test_pairs_with_scores_or_with_unknown_labels(phasefit, run, measured, tmp_path):
    (tmp_path / "in.csv").write_text("sentence1,sentence2,score\nab,abc,0.5\nx,y,4.5\na,b,3.6\n")
    both = ("--text", "sentence1", "--text", "sentence2", "--label")
    result = phasefit("geometry", "run", "in.csv", *both, "score", "--kind", "score")
    assert result.exit_code == 0, result.output
    assert (measured[0].positives, measured[0].anchors.tolist()) == (["y", "b"], [1, 2])
    (tmp_path / "in.csv").write_text("sentence1,sentence2,topic\nab,abc,sport\nx,y,art\na,b,art\n")
    result = phasefit("geometry", "run", "in.csv", *both, "topic")
    assert result.exit_code == 0, result.output
    assert measured[1].positives == []
    assert "do not show which pairs belong together; alignment is skipped" in " ".join(result.stderr.split())


def test_scored_pairs_for_a_run_with_classes(phasefit, run, measured, tmp_path):
    data = {"kind": "single", "columns": {"text": "text", "labels": ["label"]}}
    (run / "phasefit.json").write_text(json.dumps({"format": 1, "status": "finished", "heads": {}, "data": data}))
    rows = "".join(f"ab,abc,{score / 10}\n" for score in range(1, 12))
    (tmp_path / "in.csv").write_text(f"sentence1,sentence2,label\n{rows}x,y,4.5\na,b,3.6\n")
    for options in ((), ("--kind", "score")):
        result = phasefit("geometry", "run", "in.csv", *options)
        assert result.exit_code == 0, result.output
        assert measured.pop().positives == ["y", "b"], "the scores are of the pairs, not classes as in the run"


def test_pairs_by_name(phasefit, run, measured, tmp_path, sentence):
    (tmp_path / "in.csv").write_text("q,a\nab,abc\nx,y\n")
    result = phasefit("geometry", "run", "in.csv", "--text", "q", "--text", "a")
    assert result.exit_code == 0, result.output
    assert (measured[0].texts, measured[0].positives) == (["ab", "x"], ["abc", "y"])
    (tmp_path / "in.csv").write_text("q,a,label\nab,abc,1\nx,y,0\n")
    assert phasefit("geometry", "run", "in.csv", "--text", "q", "--text", "a", "--label", "label").exit_code == 0
    assert measured[1].positives == ["abc"]
    assert "no column 'b'" in sentence(phasefit("geometry", "run", "in.csv", "--text", "q", "--text", "b"))


def test_pairs_of_the_runs_own_columns(phasefit, run, measured, tmp_path):
    columns = {"text": "text", "labels": [], "others": ["answer", "wrong"]}
    known = {"format": 1, "status": "finished", "heads": {}, "data": {"columns": columns}}
    (run / "phasefit.json").write_text(json.dumps(known))
    (tmp_path / "in.csv").write_text("text,answer,label\nab,abc,1\nx,y,0\n")
    assert phasefit("geometry", "run", "in.csv").exit_code == 0
    assert (measured[0].texts, measured[0].positives) == (["ab", "x"], ["abc"])
    (tmp_path / "in.csv").write_text("text,label\nab,1\nx,0\n")
    assert phasefit("geometry", "run", "in.csv").exit_code == 0
    assert measured[1].codes.tolist() == [0, 1], "single texts with labels will do"
    assert phasefit("geometry", "run", "in.csv", "--text", "text").exit_code == 0
    assert measured[2].texts == ["ab", "x"]


def test_texts_that_the_run_knows(phasefit, run, measured, tmp_path):
    from phasefit.runs.trained_texts import write_seen

    write_seen(run, ["AB", "other"])
    (tmp_path / "texts.csv").write_text("text\nab\nabc\n")
    message = " ".join(phasefit("geometry", "run", "texts.csv", "--quiet").stderr.split())
    assert "the run was trained on 1 of the 2 texts of 'texts'; the figures for new texts may differ" in message
    assert "scores" not in message


def test_the_help_names_data_once(phasefit):
    assert "[[DATA]]" not in phasefit("geometry", "--help").stdout


def test_bad_input(phasefit, run, measured, tmp_path, sentence):
    (tmp_path / "in.csv").write_text("text\nab\nabc\n")
    assert "there is no run 'nope'" in sentence(phasefit("geometry", "nope"))
    assert "no column 'topic'" in sentence(phasefit("geometry", "run", "in.csv", "--label", "topic"))
    assert "need DATA; add it" in sentence(phasefit("geometry", "run", "--label", "topic"))
    assert "nope.csv" in sentence(phasefit("geometry", "run", "nope.csv"))
    message = "--split must be train, validation or test, not 'dev'"
    assert message in sentence(phasefit("geometry", "run", "in.csv", "--split", "dev"))
    (run / "metrics.json").write_text("{}")
    assert "has no stored geometry; pass a table" in sentence(phasefit("geometry", "run"))
    (tmp_path / "plain").mkdir()
    assert "is not a phasefit model" in sentence(phasefit("geometry", "plain"))
    assert "is not a phasefit model" in sentence(phasefit("geometry", "plain", "in.csv"))
    (run / "phasefit.json").write_text(json.dumps({"format": 1, "status": "started"}))
    assert "--resume" in sentence(phasefit("geometry", "run"))


def test_labels_of_every_kind(phasefit, run, measured, tmp_path, sentence):
    (tmp_path / "in.csv").write_text("text,label\nab,bad\nabc,good\nx,bad\n")
    assert phasefit("geometry", "run", "in.csv", "--levels", "bad,fair,good").exit_code == 0
    assert measured[0].codes.tolist() == [0, 1, 0], "levels are groups"
    (tmp_path / "tags.csv").write_text("text,label\nab,b;c\nabc,\nx,c\n")
    result = phasefit("geometry", "run", "tags.csv", "--kind", "multi", "--separator", ";")
    assert result.exit_code == 0, result.output
    assert len(measured[1].texts) == 3
    assert "need DATA; add it" in sentence(phasefit("geometry", "run", "--levels", "bad,good"))
    (tmp_path / "tasks.toml").write_text('[[task]]\nname = "one"\ndata = "in.csv"\n')
    assert "is a task file" in sentence(phasefit("geometry", "run", "tasks.toml"))


def test_layers_of_a_plain_encoder(phasefit, tiny_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("text,label\nthe song,a\na storm of rain,b\nthe hotel,a\n")
    result = phasefit("geometry", str(tiny_folder), "in.csv", "--layers", "--json", "--device", "cpu")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["texts"], facts["words"]) == (3, 8)
    assert [one["layer"] for one in facts["layers"]] == [0, 1, 2]
    result = phasefit("geometry", str(tiny_folder), "in.csv", "--layers", "-o", "shape", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert f"{facts['layers'][2]['words']:.4f}" in result.stdout
    assert {path.name for path in (tmp_path / "shape").iterdir()} == {"layers.json", "layers.png", "layers.svg"}
    assert json.loads((tmp_path / "shape" / "layers.json").read_text()) == facts


def test_layers_need_texts_and_no_labels(phasefit, run, tmp_path, sentence):
    (tmp_path / "in.csv").write_text("text,label\nab,x\ncd,y\n")
    assert "--layers needs DATA" in sentence(phasefit("geometry", "run", "--layers"))
    assert "remove --label" in sentence(phasefit("geometry", "run", "in.csv", "--layers", "--label", "label"))
    (tmp_path / "tasks.toml").write_text('[task.a]\ndata = "in.csv"\n')
    (tmp_path / "run" / "encoder").mkdir()
    assert "is a task file" in sentence(phasefit("geometry", "run", "tasks.toml", "--layers"))
