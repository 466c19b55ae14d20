"""The encoder that was not trained for similarity: its texts, its training, and that it can be built again."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer

from phasefit.studies.key import model_fingerprint
from tiny import make_table, save_tiny

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import substitute_encoder

    monkeypatch.setattr(substitute_encoder, "HELD_OUT", 4)
    return substitute_encoder


def options(out: Path, model: Path, **changes: Any) -> Namespace:
    given: dict[str, Any] = {"layers": 1, "steps": 3, "batch_size": 4, "lr": 1e-3, "max_length": 16, "seed": 0}
    return Namespace(**(given | {"out": out, "model": str(model)} | changes))


def test_the_same_weights_again(script: Any, tmp_path: Path) -> None:
    model, texts = save_tiny(tmp_path / "tiny"), make_table(16)[0]
    figures = [script.build(options(tmp_path / name, model), texts) for name in ("one", "two")]
    assert figures[0] == figures[1]
    assert figures[0]["loss"] > 0
    assert model_fingerprint(str(tmp_path / "one")) == model_fingerprint(str(tmp_path / "two"))
    script.build(options(tmp_path / "other", model, seed=1), texts)
    assert script.sha256(tmp_path / "other") != script.sha256(tmp_path / "one")


def test_a_plain_encoder_with_fewer_layers_and_trained_weights(script: Any, tmp_path: Path) -> None:
    model, texts = save_tiny(tmp_path / "tiny"), make_table(16)[0]
    script.build(options(tmp_path / "new", model), texts)
    before, after = SentenceTransformer(str(model)), SentenceTransformer(str(tmp_path / "new"))
    assert (len(before[0].auto_model.encoder.layer), len(after[0].auto_model.encoder.layer)) == (2, 1)
    assert after.max_seq_length == before.max_seq_length
    old, new = (one[0].auto_model.encoder.layer[0].output.dense.weight for one in (before, after))
    assert not torch.equal(old, new)
    assert torch.allclose(old, new, atol=0.02), "three steps from the old weights, not from random ones"


def test_no_text_of_a_scored_dataset(script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "SOURCES", ("subj", "mr"))
    for name, rows in {"subj": ["a cat", "A  Dog runs", "old"], "mr": ["a film", "A FILM", "a bird"]}.items():
        write(tmp_path / name / "train.csv", "text,label", [f"{row},x" for row in rows])
    write(tmp_path / "stsb" / "train.csv", "text_a,text_b,label", ["a dog runs,x,1"])
    write(tmp_path / "sick" / "test.csv", "text_a,text_b,label", ["y,a bird,1"])
    write(tmp_path / "sick" / "train.csv", "text_a,text_b,label", ["y,z,1"])
    write(tmp_path / "simlex999" / "test.csv", "text_a,text_b,label", ["old,new,1.5"])
    texts = script.training_texts(tmp_path, 2, 0)
    assert {text.lower() for text in texts} == {"a cat", "a film"}
    with pytest.raises(SystemExit, match="the datasets have 2 texts, but 3 are needed"):
        script.training_texts(tmp_path, 3, 0)


def write(path: Path, header: str, rows: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
