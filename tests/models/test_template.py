"""A template equals the filled-in text: in training, in plain sentence-transformers, after saving."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from phasefit.errors import ModelError, RecipeError
from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.encoder.template import check_template, template_of, with_template
from phasefit.models.model import Model
from phasefit.models.tokens.noise import delete_words
from phasefit.models.tokens.tokens import SPECIAL
from tiny import FAMILIES, POSITIONS, make_table

TEXTS = [*make_table(8)[0], "🙂 naïve\ttext", "one", "rain, storm!"]
TEMPLATES = ["{text} about {mask}.", "please find: {text} (some {mask} the {mask})", "today {text}"]


def filled(template: str, text: str, mask: str) -> str:
    return template.replace("{text}", text).replace("{mask}", mask)


@pytest.mark.parametrize("family", FAMILIES)
def test_template_equals_the_filled_in_text_here_and_in_sentence_transformers(
    tiny_encoder, tmp_path: Path, family: str
) -> None:
    encoder = load_encoder(str(tiny_encoder(family)))
    plain = encoder.tokenizer
    for template in TEMPLATES:
        wanted = [plain(filled(template, text, plain.mask_token))["input_ids"] for text in TEXTS]
        assert with_template(plain, template)(TEXTS)["input_ids"] == wanted
    bare = Model(encoder).embed(TEXTS)
    encoder.set_template(TEMPLATES[1])
    wanted = [plain(filled(TEMPLATES[1], text, plain.mask_token))["input_ids"] for text in TEXTS]
    assert encoder.tokenise(TEXTS).ids.tolist() == [number for row in wanted for number in row]
    ours = Model(encoder).embed(TEXTS)
    assert np.abs(ours - bare).max() > 1e-3
    encoder.save(tmp_path / "saved")
    saved = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert np.asarray(saved.encode(TEXTS)) == pytest.approx(ours, abs=1e-5)
    again = load_encoder(str(tmp_path / "saved"))
    assert again.template == TEMPLATES[1]
    assert again.max_length == encoder.max_length
    assert Model(again).embed(TEXTS) == pytest.approx(ours, abs=1e-6)


@pytest.mark.parametrize(("family", "kind"), [("roberta", "RobertaTokenizer"), ("mpnet", "RobertaTokenizer")])
def test_tokenizer_classes_with_their_own_special_tokens_keep_it(
    tiny_encoder, tmp_path: Path, family: str, kind: str
) -> None:
    folder = Path(shutil.copytree(tiny_encoder(family), tmp_path / "own"))
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "tokenizer_class": kind}))
    encoder = load_encoder(str(folder))
    assert type(encoder.tokenizer).__name__ == kind
    encoder.set_template(TEMPLATES[1])
    ours = Model(encoder).embed(TEXTS)
    encoder.save(tmp_path / "saved")
    plain = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert np.asarray(plain.encode(TEXTS)) == pytest.approx(ours, abs=1e-5)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
def test_a_long_text_is_cut_and_the_template_is_not(tiny_encoder, family: str, side: str) -> None:
    encoder = load_encoder(str(tiny_encoder(family)))
    encoder.tokenizer.truncation_side = side
    encoder.set_template(TEMPLATES[0])
    short = encoder.tokenise(["rain"])
    suffix = short.ids[short.words == SPECIAL]
    tokens = encoder.tokenise(["rain " * 100])
    assert tokens.lengths.tolist() == [POSITIONS]
    assert tokens.ids[tokens.words == SPECIAL].tolist() == suffix.tolist()
    text = encoder.tokenizer("rain " * 100, add_special_tokens=False)["input_ids"]
    assert tokens.lost.tolist() == [len(text) + len(suffix) - POSITIONS]
    plain = encoder.tokenizer("rain " * 100, truncation=True, max_length=POSITIONS)["input_ids"]
    assert plain == tokens.ids.tolist()


def test_noise_does_not_change_the_template(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.set_template(TEMPLATES[1])
    tokens = encoder.tokenise(["rain storm cloud wind"])
    special = tokens.ids[tokens.words == SPECIAL].tolist()
    noised = delete_words(tokens, np.array([0]), 0.99, np.random.default_rng(0))["input_ids"][0].tolist()
    assert len(noised) == len(special) + 1
    assert [number for number in noised if number in special] == special


def test_the_model_s_own_prefix_stays_inside(tiny_folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    plain = encoder.tokenizer
    encoder.prompt = "find me: "
    encoder.set_template(TEMPLATES[0])
    ours = Model(encoder).embed(TEXTS)
    wanted = plain(filled(TEMPLATES[0], "find me: " + TEXTS[0], plain.mask_token))["input_ids"]
    assert encoder.tokenise(TEXTS[:1]).ids.tolist() == wanted
    encoder.save(tmp_path / "saved")
    assert np.asarray(SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(TEXTS)) == pytest.approx(
        ours, abs=1e-5
    )


def test_pairs_keep_their_special_tokens(tiny_folder: Path) -> None:
    plain = load_encoder(str(tiny_folder)).tokenizer
    ours = with_template(plain, "{text} about music")
    for first, more in (("rain", []), ("rain", ["storm"])):
        wanted = plain(f"{first} about music", *more, return_token_type_ids=True)
        assert dict(ours(first, *more, return_token_type_ids=True)) == dict(wanted)


def test_an_encoder_keeps_its_first_template(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    assert encoder.template == ""
    encoder.set_template("{text}")
    assert encoder.template == ""
    encoder.set_template("  {text} about music ")
    encoder.set_template("{text} about music")
    assert encoder.template == template_of(encoder.tokenizer) == "{text} about music"
    with pytest.raises(RecipeError, match=r"was trained with the prompt '\{text\} about music'"):
        encoder.set_template("{text} about food")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("about {mask}", r"must contain \{text\} once"),
        ("{text} and {text}", r"must contain \{text\} once"),
        ("{text}" + " {mask}" * 5, r"\{mask\} at most 4 times \(found 5\)"),
        ("{text} {label}", r"unknown field '\{label\}'"),
        ("super{text}", r"put spaces around \{text\}"),
        ("{text}s", r"put spaces around \{text\}"),
        ("{txt}", r"unknown field '\{txt\}'; did you mean '\{text\}'"),
    ],
)
def test_an_invalid_template_is_rejected(template: str, message: str) -> None:
    with pytest.raises(RecipeError, match=f"mine.toml: prompt.*{message}"):
        check_template(template, "mine.toml")


def test_a_template_that_does_not_fit_the_model_is_rejected(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    with pytest.raises(RecipeError, match="does not fit into max_length = 64 tokens"):
        encoder.set_template("{text} " + "rain " * 70)
    encoder = load_encoder(str(tiny_folder))
    encoder.set_template("{text} about the song")
    with pytest.raises(ModelError, match=r"max_length must be between 7 and .*, not 6"):
        encoder.max_length = 6
    encoder = load_encoder(str(tiny_folder))
    encoder.tokenizer.mask_token = None
    with pytest.raises(RecipeError, match="needs a mask token, and the tokenizer of this model has none"):
        encoder.set_template(TEMPLATES[0])
