"""A run that is an encoder, through the real commands: trained on pairs, used by `embed`, refused by `predict`.

`evaluate` compares its cosines with the scores of pairs.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner, Result

from phasefit.cli.app import app
from tiny import make_table, write_csv

TEXTS, LABELS = make_table(40)
NO_CLASSIFIER = (
    "this run is an encoder without a classifier; use 'phasefit embed', or train a classifier with a finetune phase"
)


@pytest.fixture(scope="module")
def trained(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("encoder")
    rows = "".join(f"{one},{other}\n" for one, other in zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True))
    (folder / "pairs.csv").write_text(f"asked,replied\n{rows}")
    write_csv(folder / "labelled.csv", TEXTS, LABELS)
    words = f"train {folder}/pairs.csv --text asked --text replied -m {tiny_folder} -o {folder}/run -r mnr"
    result = CliRunner().invoke(app, [*words.split(), "-s", "mnr.batch_size=8", "-s", "mnr.max_steps=2"])
    assert result.exit_code == 0, result.output
    return folder, result


def test_what_comes_next(trained) -> None:
    folder, result = trained
    assert "columns: texts 'asked', 'replied' (one pair per row)" in result.stderr
    for piece in (
        f"phasefit embed {folder}/run new.csv",
        "an encoder without a classifier",
        f'SentenceTransformer("{folder}/run/enc',
    ):
        assert piece in result.stdout
    assert "phasefit predict" not in result.stdout


def test_embed_is_plain_sentence_transformers(trained, phasefit) -> None:
    folder, _ = trained
    result = phasefit("embed", f"{folder}/run", f"{folder}/labelled.csv", "-o", f"{folder}/vectors.npy", "-q")
    assert result.exit_code == 0, result.output
    plain = SentenceTransformer(f"{folder}/run/encoder", device="cpu").encode(TEXTS)
    assert np.load(folder / "vectors.npy") == pytest.approx(plain, abs=1e-5)


def test_a_pair_has_no_usual_text(trained, phasefit, sentence) -> None:
    folder, _ = trained
    out = ("-o", f"{folder}/one.npy", "-q")
    assert "--text" in sentence(phasefit("embed", f"{folder}/run", f"{folder}/pairs.csv", *out))
    assert phasefit("embed", f"{folder}/run", f"{folder}/pairs.csv", "--text", "replied", *out).exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        "predict {run} {table} -q",
        "predict {run} --say hello -q",
        "predict {run} {pairs} -q",
    ],
)
def test_there_is_nothing_to_predict(trained, phasefit, sentence, words: str) -> None:
    folder, _ = trained
    line = words.format(run=folder / "run", table=folder / "labelled.csv", pairs=folder / "pairs.csv")
    assert sentence(phasefit(*line.split())) == NO_CLASSIFIER


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("{table}", "labelled"),
        ("{pairs}", "no label column"),
        ("cs224n", "one table of text pairs with scores"),
        ("{pairs} --kind multi", "one table of text pairs with scores"),
        ("{pairs} --task sts", "one table of text pairs with scores"),
    ],
)
def test_evaluating_it_needs_pairs_with_scores(trained, phasefit, sentence, words: str, reason: str) -> None:
    folder, _ = trained
    line = words.format(table=folder / "labelled.csv", pairs=folder / "pairs.csv")
    message = sentence(phasefit("evaluate", f"{folder}/run", *line.split()))
    assert message.startswith(NO_CLASSIFIER)
    assert "to score the encoder, pass" in message
    assert reason in message


def test_its_cosines_are_scored(trained, phasefit) -> None:
    folder, _ = trained
    scores = np.arange(len(TEXTS)) % 6
    pairs = list(zip(TEXTS, TEXTS[::-1], scores, strict=True))
    lines = "".join(f"{one},{other},{score}\n" for one, other, score in pairs)
    (folder / "scored.csv").write_text(f"asked,replied,cosine\n{lines}")
    result = phasefit(
        "evaluate", f"{folder}/run", f"{folder}/scored.csv", "--label", "cosine", "-o", f"{folder}/out", "--json"
    )
    assert result.exit_code == 0, result.output
    assert "1 of the 40 texts in 'scored' were used to train" in " ".join(result.stderr.split())
    plain = SentenceTransformer(f"{folder}/run/encoder", device="cpu")
    left, right = (plain.encode(side, normalize_embeddings=True) for side in (TEXTS, TEXTS[::-1]))
    cosines = (left * right).sum(axis=1)
    metrics = json.loads(result.stdout)
    assert metrics["spearman"] == pytest.approx(stats.spearmanr(scores, cosines).statistic, abs=1e-4)
    assert metrics["pearson"] == pytest.approx(stats.pearsonr(scores, cosines).statistic, abs=1e-4)
    assert not {"mse", "mae", "r2"} & {*metrics}, "cosines are not on the scale of the scores"
    written = pd.read_csv(folder / "out" / "predictions.csv")
    assert written["_cosine"].to_numpy() == pytest.approx(cosines, abs=1e-5)
    assert (folder / "out" / "metrics.json").is_file()
    shown = phasefit("evaluate", f"{folder}/run", f"{folder}/scored.csv", "--label", "cosine").stdout
    assert "Spearman" in shown
    assert "mean squared error" not in shown


def test_a_plain_encoder_is_scored_on_a_dataset_of_words(trained, phasefit, tiny_folder, tmp_path) -> None:
    (tmp_path / "simlex999").mkdir()
    words, scores = ["song", "rain", "pizza", "hotel"], [1.5, 9.0, 3.0, 0.5]
    rows = "".join(f"{word},album,{score},N\n" for word, score in zip(words, scores, strict=True))
    (tmp_path / "simlex999" / "test.csv").write_text(f"text_a,text_b,label,pos\n{rows}")
    line = ("simlex999", "--data-dir", str(tmp_path), "--json", "--device", "cpu")
    for source, folder in ((tiny_folder, tiny_folder), (trained[0] / "run", trained[0] / "run" / "encoder")):
        result = phasefit("evaluate", str(source), *line)
        assert result.exit_code == 0, result.output
        plain = SentenceTransformer(str(folder), device="cpu")
        cosines = plain.encode(words, normalize_embeddings=True) @ plain.encode("album", normalize_embeddings=True)
        metrics = json.loads(result.stdout)
        assert metrics["rows"] == 4
        assert metrics["spearman"] == pytest.approx(stats.spearmanr(scores, cosines).statistic, abs=1e-4)
