"""Study files: read strictly, cut by scales, and every packaged one says what it should."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from phasefit.baselines import BASELINES
from phasefit.errors import RecipeError
from phasefit.files.toml import toml_value
from phasefit.recipes import read_recipe
from phasefit.recipes.settings import Settings, as_settings, setting_lines
from phasefit.studies.formats import to_csv, to_latex, to_markdown
from phasefit.studies.result import Result
from phasefit.studies.scaling import Selection, scale_study
from phasefit.studies.study import Study, Variant, applicable_settings
from phasefit.studies.study_file import FULL
from phasefit.studies.study_reading import StudyInfo, find_study, list_studies, parse_study, read_study_file
from phasefit.studies.tables import fill
from phasefit.studies.verdict import verdicts

STUDIES = list_studies()
every_study = pytest.mark.parametrize("info", STUDIES, ids=lambda info: info.name)

SMALL = """
title = "Small"
seeds = [0, 1, 2]
[common]
test_rows = 50
[dataset.A]
data = "snips"
set.finetune.lr = 1e-5
[dataset.B]
data = "snips2"
rows = 1000
[variant.base]
recipe = "finetune"
[variant.more]
recipe = "three-phase"
set.finetune = { epochs = 2, lr = 3e-5 }
on.B.contrast.epochs = 1
[variant.ours]
recipe = "finetune"
own_settings = true
only = ["A"]
[[table]]
number = 1
title = "accuracy"
[table.published.RoBERTa]
A = { base = 90, more = 91.5 }
[[table]]
number = 2
title = "F1"
score = "test.macro_f1"
datasets = ["B"]
[scale.quick]
seeds = [0, 1]
datasets = ["A"]
rows = 100
set.finetune.max_steps = 4
dataset.A.set.finetune.lr = 1e-4
"""


def small(**changes: Any) -> Any:
    return parse_study({**tomllib.loads(SMALL), **changes}, "small.toml")


def set_on(study: Any, dataset: str, variant: str) -> Settings:
    cells = [cell for cell in study.cells() if (cell.dataset, cell.variant) == (dataset, variant)]
    return cells[0].spec.recipe.settings


def settings(study: Any, dataset: str, variant: str) -> tuple[str, ...]:
    return tuple(setting_lines(set_on(study, dataset, variant)))


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("titel = 'x'", "s.toml: unknown option 'titel'; did you mean 'title'?"),
        ("[dataset.A]\ndata='snips'\nrowz=3", "s.toml, dataset.A: unknown option 'rowz'; did you mean 'rows'?"),
        ("[dataset.A]\nrows=3", "s.toml, dataset.A: 'data' is missing"),
        ("[dataset.A]\ndata='snips'\nrows=0", "'rows' must be at least 1 (found 0)"),
        ("seeds = []", "s.toml: 'seeds' must not be empty (found [])"),
        ("seeds = [1, 0, 1]", "s.toml: 'seeds' lists 1 twice; list each seed once"),
        ("[scale.quick]\nseeds=[0, 0]", "s.toml, scale 'quick': 'seeds' lists 0 twice"),
        ("seeds = [0, -1]", "seeds: entry 2 must be at least 0 (found -1)"),
        ("[variant.v]\nrecipe='finetune'\nonly=['C']", "variant 'v': there is no dataset 'C'; known: A, B"),
        ("[[table]]\ntitle='t'\nvariants=['bas']", "table 1: there is no variant 'bas'; did you mean 'base'?"),
        ("[[table]]\ntitle='t'\npublished.X.A.bas=1", "table 1, published 'X': there is no variant 'bas'"),
        ("[scale.full]\nseeds=[1]", "the file itself is the full scale"),
        ("[scale.quick]\ndatasets=['C']", "scale 'quick': there is no dataset 'C'"),
        ("[scale.quick]\nvariant.base.seeds=[7]", "scale 'quick', 'base': the seed 7 is not one of the scale's"),
        ("[scale.quick]\nepochs=2", "scale.quick: unknown option 'epochs'"),
        ("[[figure]]\ntitle='f'\nvariant='base'\nagainst='x'", "figure 'f': there is no variant 'x'"),
        ("[[figure]]\ntitle='f'\nvariant='base'", "figure 'f': 'against' is missing"),
        ("[[figure]]\ntitle='f'\nkind='bars'", "figure 1: 'kind'"),
        ("[[figure]]\ntitle='f'\nkind='scores'", "figure 'f': 'tables' is missing"),
        ("[[figure]]\ntitle='f'\nkind='scores'\ntables=[1, 2]", "kind = 'scores' draws one table (found 2)"),
        ("[[figure]]\ntitle='f'\nkind='scores'\ntables=[3]", "figure 'f': there is no table '3'"),
        ("[[figure]]\ntitle='f'\nkind='scores'\ntables=[1]\nvariants=['bas']", "there is no variant 'bas'"),
        (
            "[[figure]]\ntitle='f'\nkind='scores'\ntables=[1]\nvariant='base'",
            "'variant' has no effect with kind = 'scores'; remove it",
        ),
    ],
)
def test_an_error_is_one_sentence(text: str, message: str) -> None:
    content = tomllib.loads(SMALL)
    for name, value in tomllib.loads(text).items():
        content[name] = {**content[name], **value} if isinstance(value, dict) else value
    with pytest.raises(RecipeError) as error:
        parse_study(content, "s.toml")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_not_studies(tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("title = ", encoding="utf-8")
    with pytest.raises(RecipeError, match=r"broken\.toml: not valid TOML"):
        read_study_file(tmp_path / "broken.toml")
    with pytest.raises(RecipeError, match="cannot be read"):
        read_study_file(tmp_path / "missing.toml")
    with pytest.raises(RecipeError, match="no study file"):
        find_study(str(tmp_path / "missing.toml"))
    with pytest.raises(RecipeError, match="did you mean 'mirror'"):
        find_study("miror")


def test_settings_are_written_as_on_the_command_line() -> None:
    tables = {
        "contrast": {"balance": {"mode": "none"}, "objective": {"name": "supcon", "temperature": 0.3}},
        "long": "cut",
    }
    assert setting_lines(as_settings(tables)) == [
        "contrast.balance.mode=none",
        'contrast.objective={ name = "supcon", temperature = 0.3 }',
        "long=cut",
    ]
    for value in (True, 3, 1e-5, 'a "quoted" \\ word', ["a", 1], {"a": [False]}):
        assert tomllib.loads(f"value = {toml_value(value)}")["value"] == value


def test_the_example_in_the_docs_is_a_study() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    example = page.partition("```toml\n")[2].partition("```")[0]
    study = scale_study(parse_study(tomllib.loads(example), "docs"), "docs", Selection("quick")).study
    assert [variant.name for variant in study.variants] == ["cross-entropy", "SupCon"]


# --- scales -----------------------------------------------------------------------------------------------------------


def test_the_file_is_the_full_scale() -> None:
    scaled = scale_study(small(), "small", Selection())
    assert not scaled.changes
    assert scaled.study.seeds == (0, 1, 2)
    assert [data.options.get("rows") for data in scaled.study.datasets] == [None, 1000]
    assert all(data.options["test_rows"] == 50 for data in scaled.study.datasets)
    assert not [note for note in scaled.study.notes if "Cut" in note]


def test_settings_of_datasets_and_variants_are_merged() -> None:
    study = scale_study(small(), "small", Selection()).study
    assert settings(study, "A", "base") == ("finetune.lr=1e-05",)
    assert settings(study, "A", "more") == ("finetune.epochs=2", "finetune.lr=1e-05")
    assert settings(study, "B", "more") == ("finetune.epochs=2", "finetune.lr=3e-05", "contrast.epochs=1")
    assert settings(study, "A", "ours") == ()
    assert not [cell for cell in study.cells() if (cell.dataset, cell.variant) == ("B", "ours")]


def test_a_scale_lists_what_it_reduces() -> None:
    scaled = scale_study(small(), "small", Selection("quick"))
    assert scaled.study.seeds == (0, 1)
    assert [data.name for data in scaled.study.datasets] == ["A"]
    assert scaled.study.datasets[0].options["rows"] == 100
    assert settings(scaled.study, "A", "more")[-2:] == ("finetune.max_steps=4", "finetune.lr=0.0001")
    assert settings(scaled.study, "A", "ours") == ("finetune.max_steps=4",)
    note = scaled.study.notes[0]
    for part in (
        "2 seeds (0, 1) instead of 3 seeds (0, 1, 2)",
        "datasets left out: B",
        "tables left out: 2",
        "at most 100 training rows",
        "finetune.max_steps = 4",
        "finetune.lr = 0.0001 (A instead of 1e-05)",
    ):
        assert part in note
    assert all("Reduced to the quick scale" in table.note for table in scaled.study.tables)
    assert [table.number for table in scaled.study.tables] == ["1"]


def test_an_explicit_selection_overrides_the_scale() -> None:
    scaled = scale_study(small(), "small", Selection("quick", datasets=("snips2",), seeds=4))
    assert [data.name for data in scaled.study.datasets] == ["B"]
    assert scaled.study.datasets[0].options["rows"] == 100
    assert scaled.study.seeds == (0, 1, 2, 3)
    assert [table.number for table in scale_study(small(), "s", Selection(FULL, (), ("2",))).study.tables] == ["2"]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Selection("tiny"), "no scale 'tiny'; known: full, quick"),
        (Selection(FULL, ("C",)), "no dataset 'C'"),
        (Selection(FULL, (), ("3",)), "--table 3: the study has no table with this number; known: 1, 2"),
        (Selection("quick", (), ("2",)), "--table 2 uses B, which this scale or --datasets leaves out"),
    ],
)
def test_invalid_selections_are_refused(choice: Selection, message: str) -> None:
    with pytest.raises(RecipeError, match=message.replace("(", r"\(")):
        scale_study(small(), "small", choice)


def test_a_dataset_with_one_variant_left_is_no_comparison() -> None:
    scale = {"quick": {"variant": {"more": {"only": ["A"]}}}}
    tables = scale_study(small(scale=scale), "small", Selection("quick")).study.tables
    assert [table.datasets for table in tables] == [("A",), ("B",)]


# --- every packaged study ---------------------------------------------------------------------------------------------


def test_a_table_whose_variants_are_all_left_out_is_left_out() -> None:
    table = [{"number": 1, "title": "all"}, {"number": 2, "title": "two", "variants": ["base", "more"]}]
    file = small(table=table, scale={"quick": {"variants": ["ours"], "datasets": ["A"]}})
    assert [one.number for one in scale_study(file, "small", Selection("quick")).study.tables] == ["1"]
    with pytest.raises(RecipeError, match="--table 2: this scale leaves out all its variants"):
        scale_study(file, "small", Selection("quick", tables=("2",)))


def test_five_studies_are_packaged() -> None:
    assert {info.name for info in STUDIES} >= {"three-phase", "triple-entropy", "label-aware", "mirror", "multitask"}


@every_study
def test_its_header_has_a_title_and_a_command(info: StudyInfo) -> None:
    header = [line for line in info.path.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    assert any(line.strip("# ").startswith(f"phasefit reproduce {info.name}") for line in header)
    assert info.file.paper
    assert not any("Ours is" in note for note in info.file.notes), "--model decides which it is"


@every_study
@pytest.mark.parametrize("scale", [FULL, "quick"])
def test_every_recipe_accepts_the_settings_of_every_dataset(info: StudyInfo, scale: str) -> None:
    study = scale_study(info.file, info.name, Selection(scale)).study
    for variant in study.variants:
        if variant.recipe in BASELINES:
            continue
        for one in variant.on.values():
            read_recipe(variant.recipe, applicable_settings(variant.recipe, one)).check()


@every_study
def test_evening_is_between_quick_and_full_and_can_judge_claims(info: StudyInfo) -> None:
    quick, evening, full = (
        scale_study(info.file, info.name, Selection(scale)).study for scale in ("quick", "evening", FULL)
    )
    assert len(quick.cells()) <= len(evening.cells()) <= len(full.cells())
    for one in evening.datasets:
        limits = [dict(data.options).get("rows", 10**9) for data in quick.datasets if data.name == one.name]
        assert all(one.options.get("rows", 10**9) >= rows for rows in limits)
    repetitions: dict[tuple[str, str], int] = {}
    for cell in evening.cells():
        repetitions[cell.dataset, cell.variant] = repetitions.get((cell.dataset, cell.variant), 0) + 1
    assert min(repetitions.values()) >= 2  # or there is no interval
    judged = [{(one.dataset, one.left), (one.dataset, one.right)} <= {*repetitions} for one in evening.claims]
    assert judged[0], "the first claim is the most important"
    assert sum(judged) >= 4


def test_a_scale_may_give_single_variants_and_datasets_fewer_seeds() -> None:
    parts = {"variant": {"more": {"seeds": [2]}}, "dataset": {"B": {"seeds": [0, 2]}}}
    scaled = scale_study(small(scale={"less": parts}), "small", Selection("less"))
    seeds: dict[tuple[str, str], list[int]] = {}
    for cell in scaled.study.cells():
        seeds.setdefault((cell.dataset, cell.variant), []).append(cell.spec.seed)
    assert seeds == {
        ("A", "base"): [0, 1, 2],
        ("A", "ours"): [0, 1, 2],
        ("B", "base"): [0, 2],
        ("A", "more"): [2],
        ("B", "more"): [2],
    }
    assert "B only with 2 seeds (0, 2)" in scaled.changes
    assert "more only with 1 seed (2)" in scaled.changes
    chosen = scale_study(small(scale={"less": parts}), "small", Selection("less", seeds=2)).study
    assert {cell.spec.seed for cell in chosen.cells() if cell.variant == "more"} == {0, 1}


@every_study
def test_quick_is_smaller_and_lists_its_changes(info: StudyInfo) -> None:
    quick, full = (scale_study(info.file, info.name, Selection(scale)) for scale in ("quick", FULL))
    assert len(quick.study.cells()) < len(full.study.cells())
    assert len(quick.study.seeds) * (quick.study.folds or 1) >= 2  # or there is no interval
    assert quick.changes
    assert not full.changes
    assert "Reduced to the quick scale" in quick.study.notes[0]


@every_study
def test_scales_reduce_the_steps_of_all_variants_by_the_same_share(info: StudyInfo) -> None:
    full = scale_study(info.file, info.name, Selection()).study
    for scale in info.file.scale:
        study = scale_study(info.file, info.name, Selection(scale)).study
        for data in study.datasets:
            shares = {share for one in study.variants for share in shares_of_steps(one, full, data.name)}
            assert len(shares) <= 1, f"{info.name}, scale {scale}, {data.name}: {shares}"


def shares_of_steps(variant: Variant, full: Study, dataset: str) -> set[float]:
    """The epochs of each phase of a variant, as a share of those at full scale."""
    if variant.recipe in BASELINES or (variant.only and dataset not in variant.only):
        return set()
    whole = next(one for one in full.variants if one.name == variant.name)
    before, after = (
        read_recipe(one.recipe, applicable_settings(one.recipe, one.on[dataset])).phases for one in (whole, variant)
    )
    for old, new in zip(before, after, strict=True):
        share = new.epochs / old.epochs
        assert new.min_steps == max(round(share * old.min_steps), 1)
        assert new.max_steps == (None if old.max_steps is None else max(round(share * old.max_steps), 1))
    return {round(new.epochs / old.epochs, 6) for old, new in zip(before, after, strict=True)}


def test_both_readings_of_a_frozen_encoder_are_variants() -> None:
    file = find_study("three-phase").file

    def frozen(variant: str, dataset: str, model: str | None = None) -> bool:
        study = scale_study(file, "three-phase", Selection(model=model)).study
        one = next(one for one in study.variants if one.name == variant)
        return read_recipe(one.recipe, applicable_settings(one.recipe, one.on[dataset])).phases[-1].freeze

    for name in ("finetune", "joint", "three-phase"):
        assert frozen(name, "SST5")
        assert not frozen(f"{name} (unfrozen)", "SST5")
        assert frozen(f"{name} (unfrozen)", "SNIPS"), "Table 5 freezes it"
        assert not frozen(name, "SST5", "FacebookAI/roberta-base"), "not a sentence encoder"


def test_denoising_warms_up_for_half_an_epoch() -> None:
    for model in (None, "FacebookAI/roberta-base"):
        study = scale_study(find_study("three-phase").file, "three-phase", Selection(model=model)).study
        for one in study.variants:
            for dataset in one.on if one.name == "three-phase" else ():
                denoise = read_recipe(one.recipe, applicable_settings(one.recipe, one.on[dataset])).phases[0]
                assert denoise.warmup * denoise.epochs == pytest.approx(0.5, abs=1e-3)


@pytest.mark.skipif("PHASEFIT_DATA" not in os.environ, reason="needs the datasets of the papers: PHASEFIT_DATA")
def test_reduced_datasets_state_their_rows() -> None:
    study = scale_study(find_study("triple-entropy").file, "triple-entropy", Selection("quick")).study
    assert {data.name: data.label for data in study.datasets} == {
        "TREC-1k": "TREC, 400 rows",
        "TREC": "TREC, 800 rows",
        "SUBJ": "SUBJ, 1,000 rows",
    }
    results = {cell.key: Result({"test": {"accuracy": 0.5}}, {}, False, 1.0, 1.0) for cell in study.cells()}
    table = fill(study, study.tables[0], study.cells(), results)
    shown = [to_markdown("T", "c", [table]), to_latex("T", "c", [table]), to_csv([table])]
    shown += verdicts([table.to_json()])
    assert all("TREC, 400 rows" in text and "TREC-1k" not in text for text in shown)
    full = scale_study(find_study("triple-entropy").file, "triple-entropy", Selection()).study
    assert not any(data.label for data in full.datasets)
    quick = scale_study(find_study("multitask").file, "multitask", Selection("quick")).study
    assert quick.datasets[0].label == "cs224n, at most 96 rows per task"
    changes = {"scale": {"quick": {"rows": 10_000}}}
    assert not scale_study(small(**changes), "small", Selection("quick")).study.datasets[0].label, "it has fewer"


@every_study
def test_every_table_and_every_published_result_has_cells(info: StudyInfo) -> None:
    study = scale_study(info.file, info.name, Selection()).study
    grid = {(cell.dataset, cell.variant) for cell in study.cells()}
    for table in study.tables:
        for source in table.published:
            for dataset, figures in source.figures.items():
                assert all((dataset, variant) in grid for variant in figures)
                assert all(-100 <= figure <= 100 for figure in figures.values())


def published(name: str, place: int, model: str, dataset: str) -> dict[str, float]:
    info = next(info for info in STUDIES if info.name == name)
    return dict(info.file.table[place].published[model][dataset])


def test_published_results_are_those_of_the_papers() -> None:
    assert published("three-phase", 0, "MiniLM-L12", "SST5") == {
        "three-phase": 53.78,
        "joint": 52.69,
        "finetune": 45.66,
    }
    assert published("three-phase", 0, "RoBERTa", "IMDB") == {"three-phase": 99.03, "joint": 95.10, "finetune": 91.43}
    assert published("three-phase", 4, "MiniLM-L12", "SNIPS")["finetune"] == 93.84  # the one that differs from Table 3
    assert published("triple-entropy", 0, "RoBERTa-base", "TREC-1k") == {"cross-entropy": 79.80, "+ SoftTriple": 82.09}
    assert published("triple-entropy", 4, "RoBERTa-large", "CR-1k") == {"cross-entropy": 93.43, "+ SoftTriple": 93.62}
    assert published("label-aware", 2, "ELECTRA", "hard set D") == {"CE": 56.1, "SupCon": 55.4, "LCL": 57.5}
    mean, sst, quora, sts = (published("multitask", at, "BERT-base, one run", "cs224n") for at in range(4))
    assert (quora["1 SST only"], sts["1 SST only"]) == (0.380, -0.009)  # an accuracy is not negative
    for variant, figure in mean.items():
        assert figure == pytest.approx((sst[variant] + quora[variant] + sts[variant]) / 3, abs=1.1e-3)


def test_the_protocols_are_those_of_the_papers() -> None:
    by_name = {info.name: info.file for info in STUDIES}
    assert (by_name["triple-entropy"].seeds, by_name["triple-entropy"].folds) == ([2, 16, 128, 2048], 5)
    study = scale_study(by_name["three-phase"], "three-phase", Selection()).study
    options = dict(one.split("=") for one in settings(study, "SST5", "three-phase"))
    assert (options["denoise.lr"], options["contrast.lr"], options["finetune.lr"]) == ("5e-05", "5e-05", "1e-05")
    assert (options["denoise.ratio"], options["finetune.batch_size"], options["max_length"]) == ("0.7", "128", "512")
    ours = tuple(f"{phase}.evaluation_share=1" for phase in ("denoise", "contrast", "finetune"))
    assert settings(study, "SST5", "three-phase (ours)") == ours
    entropy = scale_study(by_name["triple-entropy"], "triple-entropy", Selection()).study
    (phase,) = read_recipe("triple-entropy", set_on(entropy, "TREC", "+ SoftTriple")).phases
    assert (phase.lr, phase.batch_size, phase.warmup, phase.head, phase.ce_weight) == (1e-5, 64, 0.06, "linear", 0.9)
    aware = scale_study(by_name["label-aware"], "label-aware", Selection()).study
    (phase,) = read_recipe("label-aware", set_on(aware, "ISEAR", "LCL")).phases
    assert (phase.lr, phase.epochs, phase.weight_decay, phase.ce_weight) == (2e-5, 5, 0.01, 0.5)
    assert (phase.batch_size, phase.views) == (10, [{"name": "synonyms", "max_words": 10}])
    both = read_recipe("finetune", set_on(aware, "ISEAR", "CE two views")).phases[0]
    assert (both.batch_size, both.views, both.objective) == (10, phase.views, None)


REPORT = {  # methods of the CS224N report: order, epochs, dropout, batch, freeze, shared, pair, schedule
    "1 SST only": ("sst", 10, 0.3, 32, True, False, "uv", "linear"),
    "2 Quora, SST, STS": ("quora sst sts", 3, 0.5, 32, False, False, "uv", "linear"),
    "3 pairs together": ("sst sts sst sts quora", 3, 0.5, 32, False, False, "together", "cosine"),
    "4 shared layer": ("sts sst quora sst sts", 3, 0.5, 32, False, True, "together", "linear"),
    "5 batches of 16": ("sts sst quora sst sts", 3, 0.5, 16, False, True, "together", "linear"),
    "6 dropout .1": ("sts sst sst sts quora", 5, 0.1, 32, False, True, "together", "linear"),
    "7 union": ("", 5, 0.1, 32, False, False, "together", "linear"),
    "MT-DNN proportional": ("", 5, 0.1, 32, False, False, "together", "linear"),
}


@pytest.mark.parametrize("scale", ["full", "evening"])
def test_the_experiments_of_the_multitask_report(scale: str) -> None:
    study = scale_study(find_study("multitask").file, "multitask", Selection(scale)).study
    assert [variant.name for variant in study.variants] == [*REPORT, "our recipe"]
    mixes = {"7 union": "union", "MT-DNN proportional": "proportional"}
    for name, (order, epochs, dropout, batch, freeze, shared, pair, schedule) in REPORT.items():
        (phase,) = read_recipe("multitask", set_on(study, "cs224n", name)).phases
        assert (phase.mix, " ".join(phase.order)) == (mixes.get(name, "sequential"), order)
        assert (phase.epochs, phase.batch_size, phase.freeze, phase.shared) == (epochs, batch, freeze, shared)
        assert phase.schedule == schedule
        assert {(task.head, task.dropout) for task in phase.tasks.values()} == {("linear", dropout)}
        assert {phase.tasks[task].pair for task in ("quora", "sts")} == {pair}
        report = 1e-5 if order else 5e-5
        assert (phase.lr, phase.lrs["head"]) == ((report, report) if scale == "full" else (1e-4, 1e-3))
        assert (phase.patience, phase.evaluation_share) == (0, 1)


def test_the_evening_of_the_multitask_report_cuts_all_variants_alike() -> None:
    study = scale_study(find_study("multitask").file, "multitask", Selection("evening")).study
    cells = study.cells()
    assert len(cells) == 2 * (len(REPORT) + 1)
    cuts = {(cell.spec.split.rows, cell.spec.split.validation_rows, cell.spec.split.test_rows) for cell in cells}
    assert cuts == {(250, 300, 20)}
    assert {cell.spec.split.test_size for cell in cells} == {0}, "Quora has no test table"
    assert {(cell.variant, cell.spec.seed) for cell in cells} == {
        (variant.name, seed) for variant in study.variants for seed in (0, 1)
    }
    claimed = {name for claim in study.claims for name in (claim.left, claim.right)}
    assert claimed == {name for name in REPORT if name[0] in "123456"}


def test_settings_of_a_paper_depend_on_the_model() -> None:
    info = find_study("three-phase")
    ours = scale_study(info.file, info.name, Selection(FULL)).study
    theirs = scale_study(info.file, info.name, Selection(FULL, model="FacebookAI/roberta-base")).study

    def of(study: Study, variant: str, dataset: str) -> tuple[str, ...]:
        return tuple(setting_lines(next(one for one in study.variants if one.name == variant).on[dataset]))

    assert {"denoise.epochs=4", "finetune.freeze=true", "max_length=auto"} <= {*of(ours, "three-phase", "SNIPS")}
    assert {"denoise.epochs=2", "finetune.freeze=false", "max_length=48"} <= {*of(theirs, "three-phase", "SNIPS")}
    assert [*of(ours, "three-phase", "IMDB"), "finetune.freeze=false"] == sorted(
        of(theirs, "three-phase", "IMDB"), key=lambda line: line == "finetune.freeze=false"
    )
    assert [source.model for source in ours.tables[0].published] == ["MiniLM-L12", "RoBERTa"]
    assert [source.model for source in theirs.tables[0].published] == ["RoBERTa", "MiniLM-L12"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"common": {"unseen": "foo"}}, "unseen"),
        ({"variant": {"v": {"recipe": "tfidf", "set": {"finetune": {"lr": 1.0}}}}}, "the baseline .* has no settings"),
    ],
)
def test_invalid_content_is_refused(change: dict[str, Any], message: str) -> None:
    content = {"title": "T", "dataset": {"d": {"data": "snips"}}, "variant": {"v": {"recipe": "finetune"}}}
    with pytest.raises(RecipeError, match=message):
        parse_study(content | change, "s.toml")


def test_a_setting_of_a_phase_that_no_variant_has_is_refused() -> None:
    content = {"title": "T", "set": {"denoise": {"lr": 1.0}}, "dataset": {"d": {"data": "snips"}}}
    file = parse_study(content | {"variant": {"v": {"recipe": "finetune"}}}, "s.toml")
    with pytest.raises(RecipeError, match=r"denoise.lr=1.0: none of the recipes has this phase"):
        scale_study(file, "s", Selection())


def test_tables_are_searched_in_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "held.csv").write_text("text,label\na,b\n")
    content = {"title": "T", "dataset": {"d": {"data": "snips", "test": "held.csv"}}}
    file = parse_study(content | {"variant": {"v": {"recipe": "finetune"}}}, "s.toml")
    assert scale_study(file, "s", Selection(), tmp_path).study.datasets[0].options["test"] == str(tmp_path / "held.csv")
