"""Every packaged recipe can be read, has a title and a command, and trains."""

from __future__ import annotations

import pytest

from phasefit.errors import RecipeError
from phasefit.events import PhaseEnded
from phasefit.phases import PHASES
from phasefit.recipes import list_recipes, parse_recipe, read_recipe, recipe_text
from tiny import data_for, fresh_model, make_data, make_table, run, tree

NAMES = [info.name for info in list_recipes()]
every_recipe = pytest.mark.parametrize("name", NAMES)


def test_documented_recipes_exist() -> None:
    documented = "three-phase three-phase-paper joint finetune denoise-finetune contrast-finetune"
    assert set(f"{documented} three-phase-extra three-phase-unbalanced".split()) <= set(NAMES)
    auxiliary = "triple-entropy supcon-finetune label-aware proxy-nca-finetune triplet-finetune"
    assert set(f"{auxiliary} simcse simcse-supervised mirror mirror-word mnr".split()) <= set(NAMES)


@every_recipe
def test_it_reads_and_its_resolved_form_reads_to_the_same(name: str) -> None:
    recipe = read_recipe(name)
    recipe.check()
    again = parse_recipe(recipe.to_toml(), name=name, where="resolved")
    assert again == recipe
    assert again.to_toml() == recipe.to_toml()


@every_recipe
def test_its_header_has_a_title_and_a_command(name: str) -> None:
    header = [line for line in recipe_text(name).splitlines() if line.startswith("#")]
    info = next(info for info in list_recipes() if info.name == name)
    assert info.title == header[0].removeprefix("# ")
    assert any(line.strip("# ").startswith("phasefit train ") for line in header)
    assert name == "three-phase" or any(f"--recipe {name}" in line for line in header)


@every_recipe
def test_the_listing_names_its_phases(name: str) -> None:
    info = next(info for info in list_recipes() if info.name == name)
    assert info.phases == read_recipe(name).phase_names
    assert all(phase.rpartition("-")[0] in PHASES or phase in PHASES for phase in info.phases)


# Tree labels depend on the phases, not on the recipes: these three cover all phases.
CASES = [(info.name, "single") for info in list_recipes()]
CASES += [(name, "tree") for name in ("three-phase", "three-phase-paper", "joint")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_two_steps_of_every_phase(tiny_folder, name: str, kind: str) -> None:
    recipe = read_recipe(name)
    model = fresh_model(tiny_folder)
    texts, labels = make_table(48, classes=4)
    data = make_data(model.encoder, texts, labels if kind == "single" else tree(labels), validation=12)
    for label, options in zip(recipe.phase_names, recipe.phases, strict=True):
        short = options.model_copy(update={"max_steps": 2, "min_steps": 2})
        fitting = data_for(options.kind, data)
        ended = run(PHASES.get(options.kind).phase_class()(label, short, model, fitting, 0))[-1]
        assert isinstance(ended, PhaseEnded)
        assert ended.steps == (0 if getattr(options, "solve", False) else 2)
    if recipe.phases[-1].kind == "multitask":
        assert set(model.heads) == {"one", "two"}
    elif recipe.phases[-1].trains_head:
        assert set(model.predict(texts)) <= set(data.space.classes)


def test_ours_is_a_tree_of_differences_from_three_phase() -> None:
    whole = read_recipe("three-phase")
    assert whole.phase_names == ["denoise", "contrast", "finetune"]
    assert read_recipe("finetune").phases == whole.phases[2:]
    assert read_recipe("contrast-finetune").phases == whole.phases[1:]
    assert read_recipe("denoise-finetune").phases == (whole.phases[0], whole.phases[2])
    assert read_recipe("three-phase-unbalanced").phases[1].balance.mode == "none"
    assert read_recipe("three-phase-extra").phases[1].balance.max_ratio == 20


def test_the_papers_settings() -> None:
    denoise, contrast, finetune = read_recipe("three-phase-paper").phases
    assert (denoise.decoder, denoise.dense, denoise.ratio, denoise.epochs) == ("tied", "paper", 0.6, 4)
    assert (denoise.eps, denoise.weight_decay, denoise.clip, denoise.schedule) == (1e-6, 0, 1.0, "linear")
    assert (contrast.objective, contrast.pairs, contrast.dense, contrast.augmentation) == (
        "cosine",
        "explicit",
        "paper",
        12,
    )
    assert (contrast.balance.min_ratio, contrast.balance.max_ratio) == (1.5, 4)
    assert (finetune.head, finetune.dropout, finetune.epochs, finetune.eps) == ("paper", 0.3, 70, 2e-5)
    assert finetune.freeze, "the released program trains only the head of a sentence encoder"
    assert contrast.eps == 1e-6
    assert {phase.lr for phase in (denoise, contrast, finetune)} == {5e-5}
    assert {phase.batch_size for phase in (denoise, contrast, finetune)} == {32}
    assert read_recipe("three-phase-paper").max_length == "auto"
    assert [phase.watch for phase in (denoise, contrast, finetune)] == ["loss", "pairs", "log_loss"]
    assert [phase.warmup for phase in (denoise, contrast, finetune)] == [0.5 / denoise.epochs, 0.3333, 0.2]


def test_joint_as_published_keeps_its_last_weights() -> None:
    joint, finetune = read_recipe("joint-paper").phases
    assert (joint.watch, joint.warmup, joint.eps) == ("last", 0.5, 1e-6)
    assert finetune == read_recipe("three-phase-paper").phases[-1]


@pytest.mark.parametrize("name", ["three-phase-paper", "joint-paper", "finetune-paper"])
def test_the_papers_batches_are_a_fifth_for_small_tables(name: str) -> None:
    recipe = read_recipe(name)
    assert {phase.batch_size for phase in recipe.for_rows(500).phases} == {6}
    assert {phase.batch_size for phase in recipe.for_rows(501).phases} == {32}
    small = recipe.for_rows(229)
    assert small.for_rows(229) == small, "a run that is resumed reads the batch size that it used"
    tiny = read_recipe(name, {"finetune.batch_size": 6}).for_rows(10)
    assert tiny.phases[-1].batch_size == 2
    assert read_recipe("three-phase").for_rows(10) == read_recipe("three-phase")


def test_the_settings_of_papers_with_an_objective_added_to_cross_entropy() -> None:
    (entropy,) = read_recipe("triple-entropy").phases
    wanted = {"name": "soft-triple", "centres": 2000, "gamma": 0.1, "scale": 3.3, "margin": 0.3, "regulariser": 0.0}
    assert (entropy.objective, entropy.on, entropy.ce_weight, entropy.head) == (wanted, "tokens", 0.9, "linear")
    (gunel,) = read_recipe("supcon-finetune").phases
    assert (gunel.objective, gunel.ce_weight) == ({"name": "supcon", "temperature": 0.3}, 0.1)
    (aware,) = read_recipe("label-aware").phases
    assert (aware.objective["temperature"], aware.ce_weight, aware.views) == (0.3, 0.5, ["dropout"])


def test_an_unknown_recipe_is_named_with_the_nearest() -> None:
    with pytest.raises(RecipeError, match="did you mean 'three-phase'"):
        read_recipe("tree-phase")
    with pytest.raises(RecipeError, match="no such file"):
        read_recipe("missing.toml")
