"""The encoder always matches plain sentence-transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from phasefit.errors import ModelError
from phasefit.models.encoder.encoder import Encoder, load_encoder
from phasefit.models.encoder.inference import encode_rows
from phasefit.models.model import Model
from tiny import FAMILIES, HIDDEN, make_table

pytestmark = pytest.mark.filterwarnings("ignore::phasefit.errors.TextsCut")  # one of the texts is long on purpose

TEXTS = [*make_table(20)[0], "🙂 naïve\ttext", "x" * 300, "the " * 100, "one"]


def plain(folder: Path) -> np.ndarray:
    return np.asarray(SentenceTransformer(str(folder), device="cpu").encode(TEXTS, batch_size=7))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("normalize", [True, False], ids=["normalized", "raw"])
def test_vectors_are_those_of_sentence_transformers(tiny_encoder, tmp_path: Path, family: str, normalize: bool) -> None:
    folder = tiny_encoder(family, normalize=normalize)
    encoder = load_encoder(str(folder))
    assert encoder.normalizes is normalize
    ours = Model(encoder).embed(TEXTS, batch_size=5)
    assert ours.shape == (len(TEXTS), HIDDEN)
    assert ours == pytest.approx(plain(folder), abs=1e-5)
    encoder.save(tmp_path / "saved")
    assert plain(tmp_path / "saved") == pytest.approx(ours, abs=1e-5)
    assert Model(load_encoder(str(tmp_path / "saved"))).embed(TEXTS, batch_size=5) == pytest.approx(ours, abs=1e-6)


@pytest.mark.parametrize("mode", ["identity", "paper"])
def test_added_layers_are_saved_before_normalize(tiny_folder: Path, tmp_path: Path, mode: str) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.append_dense(mode, seed=1)
    encoder.append_dense(mode, seed=2)
    ours = Model(encoder).embed(TEXTS)
    encoder.save(tmp_path / "saved")
    modules = [type(module).__name__ for module in SentenceTransformer(str(tmp_path / "saved"), device="cpu")]
    assert modules == ["Transformer", "Pooling", "Dense", "Dense", "Normalize"]
    assert plain(tmp_path / "saved") == pytest.approx(ours, abs=1e-5)
    assert np.linalg.norm(ours, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_an_identity_layer_changes_nothing_at_the_start(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    before = Model(encoder).embed(TEXTS)
    assert encoder.append_dense("none", seed=0) is None
    encoder.append_dense("identity", seed=0)
    assert Model(encoder).embed(TEXTS) == pytest.approx(before, abs=1e-6)


def test_the_paper_layer_depends_only_on_its_seed(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    torch.manual_seed(7)
    first = encoder.append_dense("paper", seed=3)
    state = torch.get_rng_state()
    again, other = encoder.append_dense("paper", seed=3), encoder.append_dense("paper", seed=4)
    assert torch.equal(first.linear.weight, again.linear.weight)
    assert not torch.equal(first.linear.weight, other.linear.weight)
    assert torch.equal(state, torch.get_rng_state()), "the caller's generator is left alone"


def test_a_prompt_is_used_and_saved(tiny_folder: Path, tmp_path: Path) -> None:
    whole = SentenceTransformer(
        str(tiny_folder), device="cpu", prompts={"query": "please find: "}, default_prompt_name="query"
    )
    whole.save(str(tmp_path / "prompted"), create_model_card=False)
    encoder = load_encoder(str(tmp_path / "prompted"))
    assert encoder.prompt == "please find: "
    ours = Model(encoder).embed(TEXTS)
    assert ours == pytest.approx(plain(tmp_path / "prompted"), abs=1e-5)
    assert ours != pytest.approx(plain(tiny_folder), abs=1e-3)
    encoder.save(tmp_path / "saved")
    assert plain(tmp_path / "saved") == pytest.approx(ours, abs=1e-5)


def test_a_bare_transformer_gets_mean_pooling(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder.parent / "transformer"))
    assert not encoder.normalizes
    vectors = torch.from_numpy(Model(encoder).embed(TEXTS))
    unit = torch.nn.functional.normalize(vectors, dim=1).numpy()
    assert unit == pytest.approx(plain(tiny_folder), abs=1e-5)


def test_max_length_can_be_changed_and_is_saved(tiny_folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.max_length = 10
    assert encoder.tokenise(["the " * 50]).lengths.tolist() == [10]
    encoder.save(tmp_path / "saved")
    assert load_encoder(str(tmp_path / "saved")).max_length == 10
    assert plain(tmp_path / "saved") == pytest.approx(Model(encoder).embed(TEXTS), abs=1e-5)
    for wrong in (3, 65, 0):
        with pytest.raises(ModelError, match="between 4 and the model's limit of 64"):
            encoder.max_length = wrong


def test_saving_writes_no_pickle(tiny_folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.append_dense("paper", seed=0)
    encoder.save(tmp_path / "saved")
    endings = {path.suffix for path in (tmp_path / "saved").rglob("*") if path.is_file()}
    assert endings <= {".json", ".safetensors", ".txt", ".md"}


def test_vectors_of_rows_do_not_depend_on_batches_or_mode(tiny_folder: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.train()
    tokens = encoder.tokenise(TEXTS)
    rows = np.array([5, 0, 3, 3])
    vectors = encode_rows(encoder, tokens, rows, batch_size=3)
    assert encoder.training, "whatever mode it was in"
    assert vectors.numpy() == pytest.approx(encode_rows(encoder, tokens, batch_size=64)[rows].numpy(), abs=1e-6)
    assert not vectors.is_inference()
    seen: list[int] = []
    encode_rows(encoder, tokens, batch_size=10, progress=seen.append)
    assert sum(seen) == len(TEXTS)


def test_no_texts_give_no_vectors(tiny_folder: Path) -> None:
    assert Model(load_encoder(str(tiny_folder))).embed([]).shape == (0, HIDDEN)


def test_one_string_is_not_a_list_of_texts(tiny_folder: Path) -> None:
    with pytest.raises(TypeError, match="list of texts"):
        Model(load_encoder(str(tiny_folder))).embed("text")


def test_predicting_without_a_classifier_is_an_error(tiny_folder: Path) -> None:
    model = Model(load_encoder(str(tiny_folder)))
    with pytest.raises(ModelError, match="only embeds"):
        model.predict(["text"])
    with pytest.raises(ModelError, match="finetune"):
        model.head()


def test_an_encoder_needs_a_transformer() -> None:
    with pytest.raises(ModelError, match="does not start with a text Transformer"):
        Encoder([torch.nn.Linear(2, 2)], name="odd")


def test_the_unused_pooler_is_frozen(tiny_folder: Path) -> None:
    transformer = load_encoder(str(tiny_folder)).transformer
    frozen = [name for name, value in transformer.named_parameters() if not value.requires_grad]
    assert frozen == ["pooler.dense.weight", "pooler.dense.bias"]
