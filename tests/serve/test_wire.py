"""The wire formats, for every label kind."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phasefit.kinds import kind_of
from phasefit.models.model import Model
from phasefit.serve.service import Service
from served import TEXTS, FakeModel, client_of, made_model, made_service, post

CLASSIFY, EMBEDDINGS, PREDICT, EMBED = "/v1/classify", "/v1/embeddings", "/predict", "/embed"
PAIR_TEXTS = [(TEXTS[0], TEXTS[1]), (TEXTS[2], TEXTS[3])]


@pytest.fixture(scope="module")
def model_of(tiny_folder: Path) -> Callable[..., Model]:
    made: dict[Any, Model] = {}

    def make(*tasks: str, reject: float = 0.0) -> Model:
        key = (tasks, reject)
        if key not in made:
            made[key] = made_model(tiny_folder, tasks, reject=reject)
        return made[key]

    return make


def ask(model: Any, path: str, content: dict[str, Any], name: str = "tiny") -> Any:
    response = post(made_service({name: model}), path, content)
    assert response.status_code == 200, response.text
    return response.json()


def refused(service: Service, path: str, content: Any, status: int = 422, **options: Any) -> str:
    response = post(service, path, content, **options)
    assert response.status_code == status, response.text
    error = response.json()["error"]
    return str(error if isinstance(error, str) else error["message"])


def test_classify_has_every_field_of_vllm(model_of) -> None:
    model = model_of("single")
    content = ask(model, CLASSIFY, {"model": "tiny", "input": TEXTS})
    assert set(content) == {"id", "object", "created", "model", "data", "usage"}
    assert content["id"].startswith("classify-")
    assert (content["object"], content["model"]) == ("list", "tiny")
    tokens = int(model.encoder.tokenise(TEXTS).lengths.sum())
    expected = {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0, "prompt_tokens_details": None}
    assert content["usage"] == expected
    outputs = model.predict_proba(TEXTS)
    for index, (row, answer, probs) in enumerate(zip(content["data"], model.predict(TEXTS), outputs, strict=True)):
        assert set(row) == {"index", "label", "probs", "num_classes"}
        assert (row["index"], row["label"], row["num_classes"]) == (index, answer, 3)
        assert row["probs"] == pytest.approx(probs.tolist(), abs=1e-6)


def test_one_text_and_no_model_name(model_of) -> None:
    content = ask(model_of("single"), CLASSIFY, {"input": TEXTS[0]})
    assert len(content["data"]) == 1
    assert content["model"] == "tiny"


def test_several_labels(model_of) -> None:
    model = model_of("multi")
    rows = ask(model, CLASSIFY, {"input": TEXTS})["data"]
    assert [set(row["labels"]) for row in rows] == [set(answer) for answer in model.predict(TEXTS)]
    assert all(row["label"] == ("|".join(row["labels"]) or None) for row in rows)
    scores = ask(model, PREDICT, {"inputs": [[text] for text in TEXTS]})
    assert all(len(row) == 3 for row in scores)
    assert [row["score"] for row in scores[0]] == sorted((row["score"] for row in scores[0]), reverse=True)


def test_paths_of_a_tree(model_of) -> None:
    model = model_of("tree")
    rows = ask(model, CLASSIFY, {"input": TEXTS})["data"]
    assert [row["label"] for row in rows] == ["/".join(answer) for answer in model.predict(TEXTS)]


def test_scores_are_refused_as_classes_and_given_as_predictions(model_of) -> None:
    model = model_of("score")
    assert "predicts scores" in refused(made_service({"tiny": model}), CLASSIFY, {"input": TEXTS})
    answers = ask(model, PREDICT, {"inputs": [[text] for text in TEXTS]})
    assert [row[0]["score"] for row in answers] == pytest.approx(model.predict(TEXTS), abs=1e-5)
    assert {row[0]["label"] for row in answers} == {"score"}


def test_levels(model_of) -> None:
    model = model_of("levels")
    answers = ask(model, PREDICT, {"inputs": [[text] for text in TEXTS]})
    assert [row[0]["label"] for row in answers] == model.predict(TEXTS)


@pytest.mark.parametrize("kind", ["pairs", "together"])
def test_pairs(model_of, kind: str) -> None:
    model = model_of(kind)
    service = made_service({"tiny": model})
    expected = model.predict(PAIR_TEXTS)
    assert [row["label"] for row in ask(model, CLASSIFY, {"input": PAIR_TEXTS})["data"]] == expected
    assert [row[0]["label"] for row in ask(model, PREDICT, {"inputs": PAIR_TEXTS})] == expected
    assert ask(model, PREDICT, {"inputs": PAIR_TEXTS[0]})[0]["label"] == expected[0]
    assert "input[0]: must be a list of two texts" in refused(service, CLASSIFY, {"input": list(PAIR_TEXTS[0])})
    assert "inputs: must be a list of two texts" in refused(service, PREDICT, {"inputs": "one text"})
    assert len(ask(model, EMBEDDINGS, {"input": TEXTS})["data"]) == len(TEXTS)


def test_withheld_predictions_have_no_label(model_of) -> None:
    model = model_of("single", reject=0.999)
    row = ask(model, CLASSIFY, {"input": TEXTS[0]})["data"][0]
    assert row["label"] is None
    assert len(row["probs"]) == 3
    scores = ask(model, PREDICT, {"inputs": TEXTS[0]})
    assert scores[0] == {"label": None, "score": max(row["probs"])}
    assert {entry["label"] for entry in scores[1:]} == set(model.space.names)


def test_several_tasks(model_of) -> None:
    model = model_of("single", "score", "pairs")
    service = made_service({"tiny": model})
    assert [row["label"] for row in ask(model, CLASSIFY, {"model": "tiny/single", "input": TEXTS})["data"]] == [
        *model.predict(TEXTS, task="single")
    ]
    assert ask(model, CLASSIFY, {"task": "single", "input": TEXTS})["model"] == "tiny/single"
    assert ask(model, PREDICT, {"model": "tiny/score", "inputs": TEXTS[0]})[0]["label"] == "score"
    assert "tiny/single, tiny/score, tiny/pairs" in refused(service, CLASSIFY, {"input": TEXTS})
    assert "task: contradicts" in refused(service, CLASSIFY, {"model": "tiny/score", "task": "single", "input": "a"})
    assert "known: tiny, tiny/single" in refused(service, CLASSIFY, {"model": "tiny/none", "input": "a"}, 404)
    assert "has no task 'none'" in refused(service, PREDICT, {"task": "none", "inputs": "a"})


def test_models_by_name(model_of) -> None:
    models = {"one": model_of("single"), "two": FakeModel()}
    message = refused(made_service(models), CLASSIFY, {"model": "three", "input": "a"}, 404)
    assert message == "model: there is no model 'three'; known: one, two"
    assert "several models: one, two" in refused(made_service(models), CLASSIFY, {"input": "a"})
    response = post(made_service(models), "/predict?model=two", {"inputs": "abc"})
    assert response.json()[0]["label"] == "odd"


def test_embeddings_as_floats_and_base64(model_of) -> None:
    model = model_of("single")
    expected = model.embed(TEXTS)
    content = ask(model, EMBEDDINGS, {"model": "tiny", "input": TEXTS})
    assert set(content) == {"object", "data", "model", "usage"}
    np.testing.assert_allclose([row["embedding"] for row in content["data"]], expected, atol=1e-5)
    assert [(row["object"], row["index"]) for row in content["data"]] == [("embedding", i) for i in range(len(TEXTS))]
    coded = ask(model, EMBEDDINGS, {"input": TEXTS, "encoding_format": "base64"})["data"]
    vectors = [np.frombuffer(base64.b64decode(row["embedding"]), "<f4") for row in coded]
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    service = made_service({"tiny": model})
    assert "dimensions: must be 32" in refused(service, EMBEDDINGS, {"input": "a", "dimensions": 8})
    assert len(ask(model, EMBEDDINGS, {"input": "a", "dimensions": 32})["data"]) == 1
    assert "encoding_format: must be float or base64" in refused(
        made_service({"tiny": model}), EMBEDDINGS, {"input": "a", "encoding_format": "hex"}
    )


def test_embed_normalises_unless_asked_otherwise(tiny_encoder) -> None:
    model = made_model(tiny_encoder("bert", normalize=False))
    plain = model.embed(TEXTS)
    np.testing.assert_allclose(ask(model, EMBED, {"inputs": TEXTS, "normalize": False}), plain, atol=1e-4)
    normalised = np.array(ask(model, EMBED, {"inputs": TEXTS}))
    np.testing.assert_allclose(np.linalg.norm(normalised, axis=1), 1, atol=1e-5)
    assert len(ask(model, EMBED, {"inputs": "one"})) == 1


def test_texts_that_the_model_would_cut(model_of) -> None:
    model, long = model_of("single"), "rain " * 200
    ask(model, PREDICT, {"inputs": long})
    for path, inputs in ((PREDICT, [["rain"], [long]]), (EMBED, ["rain", long])):
        message = refused(made_service({"tiny": model}), path, {"inputs": inputs, "truncate": False}, 413)
        assert "inputs[1]: is longer than the 64 tokens" in message
    assert "truncate: false is not supported" in refused(
        made_service({"fake": FakeModel()}), PREDICT, {"inputs": "a", "truncate": False}
    )


def test_top_k_and_the_form_of_the_inference_api(model_of) -> None:
    model = model_of("single")
    rows = ask(model, PREDICT, {"inputs": TEXTS[0], "parameters": {"top_k": 2}})
    assert len(rows) == 1
    assert len(rows[0]) == 2


@pytest.mark.parametrize(
    ("path", "content", "part"),
    [
        (CLASSIFY, {}, "input: is missing"),
        (CLASSIFY, {"input": []}, "input: must not be empty"),
        (CLASSIFY, {"input": ["a", 3]}, "input[1]: must be a text, not a number"),
        (CLASSIFY, {"input": [1, 2]}, "token ids are not supported"),
        (CLASSIFY, {"input": None}, "input: must be a text or a list of texts, not null"),
        (CLASSIFY, {"input": " "}, "input: must not be empty"),
        (CLASSIFY, {"input": [["a", "b"]]}, "reads single texts"),
        (CLASSIFY, {"input": "a", "model": 3}, "model: must be a text"),
        (CLASSIFY, {"input": "a", "user": {}}, "user: must be a text, not an object"),
        (CLASSIFY, {"input": "a", "use_activation": False}, "use_activation: false is not supported"),
        (CLASSIFY, {"input": "a", "messages": []}, "messages: is not supported"),
        (CLASSIFY, [], "body: must be a JSON object, not a list"),
        (EMBEDDINGS, {"input": "a", "dimensions": 0}, "dimensions: must be a whole number"),
        (PREDICT, {"inputs": ["a", "b"]}, "inputs: a list of texts is one pair"),
        (PREDICT, {"inputs": [["a"], "b"]}, "inputs[1]: must be a list of one text"),
        (PREDICT, {"inputs": {}}, "inputs: must be a text or a list, not an object"),
        (PREDICT, {"inputs": "a", "raw_scores": True}, "raw_scores: is not supported"),
        (PREDICT, {"inputs": "a", "parameters": 1}, "parameters: must be an object"),
        (PREDICT, {"inputs": "a", "truncate": "no"}, "truncate: must be true or false"),
        (EMBED, {"inputs": "a", "prompt_name": "query"}, "prompt_name: is not supported"),
        (EMBED, {"inputs": "a", "truncation_direction": "Left"}, "truncation_direction: must be right"),
    ],
)
def test_a_wrong_field_is_named(path: str, content: Any, part: str) -> None:
    assert part in refused(made_service({"fake": FakeModel()}), path, content)


def test_errors_have_the_form_of_their_family() -> None:
    nested = post(made_service({"fake": FakeModel()}), CLASSIFY, {"input": 3}).json()
    assert set(nested["error"]) == {"message", "type", "param", "code"}
    assert nested["error"]["param"] == "input"
    flat = post(made_service({"fake": FakeModel()}), PREDICT, {"inputs": 3}).json()
    assert flat["error_type"] == "Validation"


def test_facts(model_of) -> None:
    service = made_service({"tiny": model_of("single", "multi"), "fake": FakeModel()})

    async def get() -> dict[str, Any]:
        async with client_of(service) as client:
            await client.post(CLASSIFY, json={"model": "fake", "input": ["a", "bb"]})
            return {path: await client.get(path) for path in ("/health", "/ready", "/info", "/v1/models", "/metrics")}

    answers = asyncio.run(get())
    assert {answer.status_code for answer in answers.values()} == {200}
    assert [row["id"] for row in answers["/v1/models"].json()["data"]] == ["tiny", "tiny/single", "tiny/multi", "fake"]
    tasks = answers["/info"].json()["models"][0]["tasks"]
    assert tasks[0]["classes"] == ["food", "music", "weather"]
    assert tasks[1]["thresholds"] == [0.2, 0.5, 0.9]
    metrics = answers["/metrics"].text
    assert 'phasefit_responses_total{endpoint="/v1/classify",status="200"} 1.0' in metrics
    assert 'phasefit_texts_total{model="fake"} 2.0' in metrics
    assert "phasefit_queue_tokens 0.0" in metrics
    for name in ("tokenising", "waiting", "computing"):
        assert f"phasefit_{name}_seconds_count" in metrics


def test_every_kind_is_tested_here() -> None:
    from phasefit.data.labels import LABEL_KINDS
    from served import SPACES

    assert {kind_of(make()).name for make in SPACES.values()} == set(LABEL_KINDS)


def test_the_description_lists_every_route() -> None:
    async def get() -> dict[str, Any]:
        async with client_of(made_service({"fake": FakeModel()})) as client:
            return dict((await client.get("/openapi.json")).json())

    paths = asyncio.run(get())["paths"]
    assert {"/v1/classify", "/v1/embeddings", "/predict", "/embed", "/health", "/info", "/metrics"} <= set(paths)
    body = paths["/v1/classify"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["example"]["input"]
    assert paths["/v1/classify"]["post"]["responses"]["200"]["content"]["application/json"]["example"]["data"]
