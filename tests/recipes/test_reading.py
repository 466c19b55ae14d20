"""Recipes are read strictly, and an error says where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.errors import RecipeError
from phasefit.recipes import parse_recipe, read_recipe
from phasefit.recipes.recipe import phase_names
from phasefit.recipes.settings import parse_settings

GOOD = '[[phase]]\nkind = "contrast"\nepochs = 2\n\n[[phase]]\nkind = "finetune"\n'


def parse(text: str, *settings: str):
    return parse_recipe(text, name="mine", where="mine.toml", settings=parse_settings(settings))


def test_unset_options_have_their_default() -> None:
    recipe = parse(GOOD)
    assert recipe.phase_names == ["contrast", "finetune"]
    assert recipe.phases[0].epochs == 2
    assert recipe.phases[0].balance.mode == "code"
    assert recipe.max_length == "model"


def test_repeated_kinds_are_numbered() -> None:
    assert phase_names(["contrast", "finetune", "contrast", "contrast"]) == [
        "contrast",
        "finetune",
        "contrast-2",
        "contrast-3",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("phase = [", "mine.toml: not valid TOML"),
        ("", r"mine.toml: a recipe needs at least one \[\[phase\]\]"),
        ("phase = 3", r"at least one \[\[phase\]\]"),
        ("phase = []", r"at least one \[\[phase\]\]"),
        ("[[phase]]\nepochs = 1", "mine.toml, phase 1: 'kind' is missing"),
        ('[[phase]]\nkind = "contrst"', "mine.toml, phase 1: unknown kind 'contrst'; did you mean 'contrast'"),
        ("[[phase]]\nkind = 3", "unknown kind '3'"),
        (GOOD + "epoch = 3", r"mine.toml, phase 2: unknown option 'epoch'; did you mean 'epochs'\?"),
        (GOOD + "epochs = -1", "mine.toml, phase 2: option 'epochs' must be greater than 0 \\(found -1\\)"),
        (GOOD + 'epochs = "many"', "mine.toml, phase 2: option 'epochs'"),
        (GOOD + 'watch = "macro_f"', "did you mean 'macro_f1'"),
        (GOOD + 'head = "big"', "option 'head'"),
        (GOOD + "lrs = { heed = 1e-3 }", "mine.toml, phase 2: .*unknown part 'heed'; did you mean 'head'"),
        (GOOD + "lrs = { head = -1 }", "option 'lrs'"),
        ('[[phase]]\nkind = "contrast"\nbalance = { moed = "code" }', "unknown option 'moed' in 'balance'; .*'mode'"),
        ("max_lenght = 3\n" + GOOD, "mine.toml: unknown option 'max_lenght'; did you mean 'max_length'"),
        (
            "max_length = 2\n" + GOOD,
            r"max_length must be 'model', 'auto', 'train' or a number of at least 4 \(found 2\)",
        ),
        ("max_length = true\n" + GOOD, "max_length must be"),
        ("prompt = 3\n" + GOOD, r"mine.toml: prompt must be a template such as .* \(found 3\)"),
        ("prompt = 'about {mask}'\n" + GOOD, r"mine.toml: prompt must contain \{text\} once"),
        ("promt = '{text}'\n" + GOOD, "mine.toml: unknown option 'promt'; did you mean 'prompt'"),
    ],
)
def test_an_error_says_where_and_what(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse(text)


def test_what_reading_cannot_see_is_checked_before_training() -> None:
    for objective in ('"supcn"', '{ name = "supcon", heat = 1 }'):
        recipe = parse(f'[[phase]]\nkind = "contrast"\nobjective = {objective}')
        with pytest.raises(RecipeError, match=r"contrast.*(did you mean 'supcon'|has no option 'heat')"):
            recipe.check()


def test_a_file_is_read_and_named(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(GOOD)
    assert read_recipe(str(file)).name == "own"
    file.write_text(GOOD + "epoch = 1")
    with pytest.raises(RecipeError, match=r"own.toml, phase 2: unknown option 'epoch'"):
        read_recipe(str(file))
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecipeError, match="cannot be read"):
        read_recipe(str(file))


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("contrast.epochs=4", "epochs", 4),
        ("contrast.epochs = 0.5", "epochs", 0.5),
        ("contrast.lr=1e-3", "lr", 1e-3),
        ("contrast.objective=supcon", "objective", "supcon"),
        ('contrast.objective="supcon"', "objective", "supcon"),
        (
            'contrast.objective={ name = "supcon", temperature = 0.3 }',
            "objective",
            {"name": "supcon", "temperature": 0.3},
        ),
        ("contrast.lrs.encoder=1e-3", "lrs", {"encoder": 1e-3}),
        ("contrast.lrs={encoder = 1e-3}", "lrs", {"encoder": 1e-3}),
        ("contrast.evaluate_every=auto", "evaluate_every", "auto"),
        ("contrast.max_steps=7", "max_steps", 7),
    ],
)
def test_settings(setting: str, path: str, value: object) -> None:
    assert getattr(parse(GOOD, setting).phases[0], path) == value


def test_settings_reach_into_tables_and_the_whole_run() -> None:
    recipe = parse(
        GOOD, "contrast.balance.mode=none", "max_length=auto", "finetune.freeze=true", "finetune.freeze=false"
    )
    assert recipe.phases[0].balance.mode == "none"
    assert recipe.max_length == "auto"
    assert recipe.phases[1].freeze is False, "the last word counts"
    assert parse(GOOD, "max_length=32").max_length == 32


def test_an_option_of_an_objective_is_set_however_the_objective_is_written() -> None:
    named = parse('[[phase]]\nkind = "contrast"\nobjective = "supcon"\n', "contrast.objective.temperature=0.3")
    assert named.phases[0].objective == {"name": "supcon", "temperature": 0.3}
    left_out = parse('[[phase]]\nkind = "simcse"\n', "simcse.objective.temperature=0.1")
    assert left_out.phases[0].objective == {"name": "info-nce", "temperature": 0.1}
    inside = parse('[[phase]]\nkind = "joint"\n', "joint.contrast.objective.margin=0.1")
    assert inside.phases[0].contrast.objective == {"name": "cosine", "margin": 0.1}
    other = parse('[[phase]]\nkind = "simcse"\n', "simcse.objective.name=nt-xent")
    assert other.phases[0].objective == {"name": "nt-xent"}


@pytest.mark.parametrize("line", ["finetune.views=delete-words", 'finetune.views=["delete-words"]'])
def test_a_single_view_is_a_list_of_one(line: str) -> None:
    assert read_recipe("finetune", parse_settings([line])).phases[-1].views == ["delete-words"]
    assert parse('[[phase]]\nkind = "simcse"\nviews = { name = "dropout" }\n').phases[0].views == [{"name": "dropout"}]


def test_files_of_class_texts_are_checked_before_the_data(tmp_path: Path) -> None:
    for phase in ('kind = "contrast"\nclass_texts = ', 'kind = "joint"\ncontrast.class_texts = '):
        with pytest.raises(RecipeError, match=r"class_texts: there is no file 'gone\.csv'; use"):
            parse(f'[[phase]]\n{phase}"gone.csv"\n').check_files()
        parse(f'[[phase]]\n{phase}"names"\n').check_files()


def test_a_repeated_phase_is_set_by_its_number() -> None:
    recipe = parse(GOOD + GOOD, "contrast-2.epochs=9")
    assert [phase.epochs for phase in recipe.phases if phase.kind == "contrast"] == [2, 9]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("contrast.epochs", "--set contrast.epochs: write it as phase.option=value"),
        ("=4", "write it as"),
        ("contrast..epochs=4", "write it as"),
        ("contrst.epochs=4", "this recipe has no 'contrst'; did you mean 'contrast'"),
        ("denoise.epochs=4", "this recipe has no 'denoise'"),
        ("contrast=4", "name an option of 'contrast'"),
        ("contrast.kind=finetune", "name an option of 'contrast'"),
        ("contrast.epoch=4", r"--set contrast.epoch=4: unknown option 'epoch'; did you mean 'epochs'\?"),
        ("contrast.epochs.more=4", "'epochs' is not a table and has no options"),
        ("contrast.epochs=many", "option 'epochs'"),
        ("finetune.head=big", "option 'head'"),
    ],
)
def test_a_wrong_setting_is_named(setting: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse(GOOD, setting)


def test_settings_are_part_of_the_resolved_recipe() -> None:
    recipe = parse(GOOD, "contrast.epochs=4", "finetune.lrs.head=1e-3")
    assert parse(recipe.to_toml()) == recipe
    assert "epochs = 4" in recipe.to_toml()


def test_reading_imports_no_torch() -> None:
    import subprocess
    import sys

    code = "import sys; from phasefit.recipes import *; [read_recipe(i.name) for i in list_recipes()]; "
    done = subprocess.run(
        [sys.executable, "-c", code + "sys.exit('torch' in sys.modules)"], capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_no_phase_may_follow_a_trained_head() -> None:
    text = '[[phase]]\nkind = "finetune"\n[[phase]]\nkind = "contrast"\n'
    with pytest.raises(
        RecipeError, match=r"own\.toml, phase 2: 'contrast' would change the encoder after its head was trained"
    ):
        parse_recipe(text, name="own", where="own.toml")


PROMPT = "{text} It is about {mask}."


@pytest.mark.parametrize("setting", [f"prompt={PROMPT}", f'prompt="{PROMPT}"'])
def test_a_prompt_is_read_set_and_spelled_out(setting: str) -> None:
    recipe = parse(f'prompt = "{PROMPT}"\n{GOOD}')
    assert recipe.prompt == parse(GOOD, setting).prompt == PROMPT
    assert parse(recipe.to_toml()).prompt == PROMPT
    assert parse(GOOD).prompt is None
    assert "prompt" not in parse(GOOD).to_toml()


def test_a_base_passes_its_prompt_on(tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text(f'prompt = "{PROMPT}"\n{GOOD}', encoding="utf-8")
    (tmp_path / "second.toml").write_text('base = "first.toml"\nmax_length = 32\n', encoding="utf-8")
    second = read_recipe(str(tmp_path / "second.toml"))
    assert (second.prompt, second.max_length) == (PROMPT, 32)
    assert read_recipe(str(tmp_path / "second.toml"), {"prompt": ""}).prompt is None


def test_settings_that_need_each_other_come_in_any_order() -> None:
    both = ["finetune.on=tokens", "finetune.objective=soft-triple"]
    assert read_recipe("finetune", parse_settings(both)) == read_recipe("finetune", parse_settings(both[::-1]))
    with pytest.raises(RecipeError, match=r"--set finetune.on=tokens: .*add an objective"):
        read_recipe("finetune", parse_settings([both[0], "finetune.epochs=2"]))
