"""The front matter of cards is what huggingface_hub's own classes read; nothing is stated that is not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from graphs import manifest, sign, task, write_folder
from phasefit.errors import ModelError
from phasefit.hub.contents import open_folder
from phasefit.hub.names import HubName
from phasefit.report.card.hub_card import CardAnswers, hub_card, replace_part
from phasefit.report.card.metadata import base_model, card_metadata, known_dataset


def metadata(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"name": "m", "manifest": {}, "metrics": {}, "data": {}, "embeds": False, "encoder": True}
    return card_metadata(**(given | changes))


def card_of(run: Path, **answers: Any) -> ModelCard:
    return ModelCard(hub_card(open_folder(run), "alice/reviews", CardAnswers(**answers)))


def test_the_card_of_a_run_has_its_test_figures(run: Path) -> None:
    data = card_of(run, licence="mit", languages=("en", "de"), datasets=("alice/texts",)).data
    assert isinstance(data, ModelCardData)
    test = json.loads((run / "metrics.json").read_text())["test"]
    assert (data.library_name, data.pipeline_tag, data.license) == ("phasefit", "text-classification", "mit")
    assert (data.language, data.datasets, data.model_name) == (["en", "de"], ["alice/texts"], "reviews")
    results = {result.metric_name: result for result in data.eval_results or []}
    assert all(isinstance(result, EvalResult) for result in results.values())
    assert results["accuracy"].metric_value == test["accuracy"]
    assert results["macro F1"].metric_value == test["macro_f1"]
    assert results["macro F1"].metric_type == "f1"
    assert {(one.dataset_name, one.dataset_type, one.dataset_split) for one in results.values()} == {
        ("reviews", "reviews", "test")
    }


def test_nothing_is_stated_that_is_not_known() -> None:
    content = metadata(metrics={"validation": {"accuracy": 0.9}})
    assert set(content) == {"library_name", "pipeline_tag", "tags"}
    undefined = {"test": {"accuracy": None, "macro_f1": float("nan"), "rows": 3}}
    assert "model-index" not in metadata(metrics=undefined)


def test_scores_encoders_and_several_tasks() -> None:
    scores = metadata(metrics={"test": {"pearson": 0.5, "mse": 2.0}}, data={"data": "my data (2)"})
    (result,) = scores["model-index"][0]["results"]
    assert result["dataset"] == {"name": "my data (2)", "type": "my-data-2", "split": "test"}
    assert [one["type"] for one in result["metrics"]] == ["pearsonr", "mse"]
    encoder = metadata(embeds=True)
    assert (encoder["pipeline_tag"], encoder["tags"][-1]) == ("sentence-similarity", "feature-extraction")
    tasks = metadata(metrics={"test": {"mean": 0.7, "tasks": {"a": {"accuracy": 0.6}, "b": {"spearman": 0.8}}}})
    found = ModelCardData(**tasks).eval_results or []
    assert [(one.dataset_name, one.metric_type, one.metric_value) for one in found] == [
        ("a", "accuracy", 0.6),
        ("b", "spearmanr", 0.8),
    ]
    assert "sentence-transformers" not in metadata(encoder=False)["tags"]


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ({"model": "owner/encoder"}, "owner/encoder"),
        ({"model": "/home/alice/encoder"}, ""),
        ({"model": "owner/encoder", "went_on_from": "runs/first"}, ""),
        ({"model": "x/y", "went_on_from": str(HubName("alice/first", "a" * 40))}, "alice/first"),
        ({}, ""),
    ],
)
def test_the_base_model_is_what_training_started_from(manifest: dict[str, str], expected: str) -> None:
    assert base_model(manifest) == expected


def test_datasets_that_are_on_the_hub() -> None:
    assert known_dataset({}, {"data": "trec"}) == "CogComp/trec"
    assert known_dataset({"request": {"data": "hub:alice/texts:en"}}, {"data": "alice-texts-en"}) == "alice/texts"
    assert known_dataset({}, {"data": "reviews"}) == ""


def test_the_text_names_the_repository(run: Path) -> None:
    text = card_of(run).text
    assert 'TextClassifier.load("hub:alice/reviews")' in text
    assert "phasefit predict hub:alice/reviews texts.csv" in text
    assert 'SentenceTransformer("alice/reviews")' in text
    assert "report.html" not in text
    assert "## Reproduce" not in text


def test_what_a_person_wrote_is_kept(run: Path) -> None:
    path = run / "README.md"
    path.write_text(path.read_text().replace("---\n\n# run", "license: cc0-1.0\nwidget: []\n---\n\n# My title", 1))
    card = card_of(run)
    assert card.data.license == "cc0-1.0"
    assert card.data.to_dict()["widget"] == []
    assert "# My title" in card.text
    assert card_of(run, licence="mit").data.license == "mit"
    path.write_text("---\nmodel-index: [1]\n---\n")
    with pytest.raises(ModelError, match=r"README.md: its front matter is not valid"):
        card_of(run)
    path.unlink()
    assert "phasefit predict hub:alice/reviews" in card_of(run).text


def test_parts_are_replaced_between_their_marks() -> None:
    text = "a\n<!-- x -->\nold\n<!-- /x -->\n\nb\n"
    assert replace_part(text, "x", "new \\1") == "a\n<!-- x -->\nnew \\1\n<!-- /x -->\n\nb\n"
    assert replace_part(text, "x", "") == "a\nb\n"
    assert replace_part("no marks", "x", "new") == "no marks"


def test_the_card_of_an_exported_model(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "exported", {"default": task()})
    sign(folder, manifest(folder) | {"model": "sentence-transformers/all-MiniLM-L6-v2"})
    content = card_of(folder).data.to_dict()
    assert (content["library_name"], content["pipeline_tag"]) == ("phasefit", "text-classification")
    assert content["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert content["tags"] == ["phasefit", "text-classification", "onnx"]
    assert "model-index" not in content, "the export does not know the scores of the run"
