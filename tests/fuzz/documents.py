"""Label spaces, decisions, recipes, task files and results of studies: documents that are read without a model."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any, ClassVar

from fuzz.edits import draw_edits
from fuzz.harness import Case, Target, WrongResult

SPACES: dict[str, Any] = {
    "single": ["music", "weather", "food"],
    "numbers": [0, 1, 2],
    "tree": [("leisure", "music"), ("world", "weather"), ("leisure", "food")],
    "multi": [frozenset({"a", "b"}), frozenset({"c"}), frozenset()],
    "score": [0.5, 1.5, 2.0, 4.25, 3.0],
}
DECISIONS: dict[str, Any] = {"temperature": 1.3, "reject_below": 0.2, "thresholds": [0.3, 0.5, 0.4]}


class OneFile(Target):
    """Folders with one file each, of one form."""

    file: ClassVar[str]
    form: ClassVar[str]

    def contents(self) -> dict[str, bytes]:
        """The intact files, by the name of their folder."""
        raise NotImplementedError

    def base(self, name: str) -> Path:
        folder = self.bases / name
        if not folder.is_dir():
            folder.mkdir()
            (folder / self.file).write_bytes(self.contents()[name])
        return folder

    def draw(self, random: random.Random) -> Case:
        base = random.choice(sorted(self.contents()))
        data = (self.base(base) / self.file).read_bytes()
        return Case(self.name, base, self.file, self.form, draw_edits(random, data, self.form))


class Labels(OneFile):
    """labels.json: spaces of every kind."""

    name, file, form = "labels", "labels.json", "json"

    def contents(self) -> dict[str, bytes]:
        from phasefit.data.labels import label_space

        return {
            name: json.dumps({"default": label_space(labels).to_json()}).encode() for name, labels in SPACES.items()
        }

    def execute(self, folder: Path, case: Case) -> None:
        import numpy as np

        from phasefit.kinds import kind_of
        from phasefit.kinds.decision import Decision
        from phasefit.runs.run import Run

        spaces = Run(folder, {"format": 1}).spaces
        for space in spaces.values():
            kind, outputs = kind_of(space), np.full((2, space.outputs), 0.5)
            if type(space).from_json(space.to_json()) != space:
                raise WrongResult("the space differs after writing and reading it")
            if len(kind.columns(space)) != len(kind.cells(outputs, space, Decision())):
                raise WrongResult("the columns do not match their cells")
            if kind.answer == "class" and space.encode(list(space.classes)).tolist() != list(range(len(space))):
                raise WrongResult("the classes have other codes than their positions")
            kind.answers(outputs, space, Decision())


class Decisions(OneFile):
    """Temperatures and thresholds, which are part of the manifest."""

    name, file, form = "decisions", "decision.json", "json"

    def contents(self) -> dict[str, bytes]:
        return {
            "all": json.dumps(DECISIONS).encode(),
            "few": json.dumps({"temperature": 0.7, "reject_below": 0.0}).encode(),
        }

    def execute(self, folder: Path, case: Case) -> None:
        import numpy as np

        from phasefit.errors import ModelError
        from phasefit.files.atomic import read_json
        from phasefit.kinds.decision import Decision

        content = read_json(folder / self.file)
        try:
            decision = Decision.from_json(content)
        except ValueError as error:  # whoever reads a manifest adds where it is
            raise ModelError(str(error)) from error
        outputs = np.tile([0.7, 0.2, 0.1], (4, 1))
        if len(decision.thresholds) not in (0, 3):
            return  # which its label space refuses
        if not np.isfinite(decision.calibrated(outputs)).all():
            raise WrongResult("calibrated probabilities are not finite")
        decision.answers(outputs)


class Recipes(OneFile):
    """Recipe files."""

    name, file, form = "recipes", "recipe.toml", "toml"

    def contents(self) -> dict[str, bytes]:
        from phasefit.recipes.recipe_files import recipe_text

        names = (
            "finetune",
            "three-phase",
            "three-phase-vae",
            "mirror",
            "joint",
            "multitask",
            "label-aware",
            "triplet-finetune",
            "few-shot",
        )
        whole = {name: recipe_text(name).encode() for name in names}
        whole["based"] = (
            b"base = 'three-phase'\nwithout = ['denoise']\nset.contrast.epochs = 2\nmax_length = 32\nlong = 'windows'\n"
        )
        return whole

    def execute(self, folder: Path, case: Case) -> None:
        from phasefit.recipes import parse_recipe, read_recipe

        recipe = read_recipe(str(folder / self.file))
        again = parse_recipe(recipe.to_toml(), name=recipe.name, where="again")
        if again != recipe and "nan" not in recipe.to_toml():
            raise WrongResult("the recipe differs after writing and reading it")


class TaskFiles(OneFile):
    """Task files."""

    name, file, form = "tasks", "tasks.toml", "toml"

    def contents(self) -> dict[str, bytes]:
        from phasefit.data.task_file import HERE

        whole = {path.stem: path.read_bytes() for path in HERE.glob("*.toml")}
        whole["every"] = (
            b"shared = true\ndropout = 0.1\n[[task]]\nname = 'a'\ndata = 'snips'\nkind = 'score'\n"
            b"levels = ['low', 'high']\ntext = ['text']\nlabel = 'label'\nrows = 5\nweight = 2\n"
            b"validation = 'v.csv'\ntest = 't.csv'\n"
            b"[[task]]\nname = 'b'\ndata = 'snips'\nkind = 'multi'\nseparator = '|'\n[before]\ndata = 'nli-triples'\n"
        )
        return whole

    def execute(self, folder: Path, case: Case) -> None:
        from phasefit.data.task_file import read_task_file
        from phasefit.recipes import read_recipe

        file = read_task_file(folder / self.file)
        read_recipe("multitask").with_tasks(file)
        if read_task_file(str(folder / self.file)) != file and "nan" not in repr(file):
            raise WrongResult("two readings of the file differ")


class Studies(Target):
    """Results of studies, their progress and manifests, and the journal of a search."""

    name: ClassVar[str] = "studies"

    def base(self, name: str) -> Path:
        from phasefit.studies.folder import StudyFolder

        folder = self.bases / name
        if not folder.is_dir():
            metrics = {"accuracy": 0.8, "log_loss": 0.4, "macro_f1": 0.7, "levels": [{"accuracy": 0.9}], "rows": 20}
            for number, cell in enumerate(self.study().cells()):
                own = folder / "cells" / cell.key
                own.mkdir(parents=True)
                scored = {**metrics, "accuracy": 0.8 + number / 100}
                if name == "several":
                    scored = {"mean": 0.7, "tasks": {"a": metrics, "b": {"pearson": 0.3}}}
                rows: Any = {"train": 80, "validation": 10, "test": 20}
                content = {
                    "metrics": {"validation": scored, "test": scored, "phases": [{"name": "finetune", "steps": 3}]},
                    "rows": {"a": rows, "b": rows} if name == "several" else rows,
                    "own_test": {"a": True, "b": False} if name == "several" else False,
                    "own_validation": False,
                    "seconds": 12.5,
                    "memory_mb": 300.0,
                    "command": "phasefit train x",
                    "threads": 1,
                }
                (own / "result.json").write_text(json.dumps(content))
                line = {"phase": "finetune", "step": 1, "epoch": 1.0, "scores": {"macro_f1": 0.4}, "watch": "macro_f1"}
                (own / "progress.jsonl").write_text(
                    "".join(json.dumps(line | {"step": step}) + "\n" for step in (1, 2, 3))
                )
            study = StudyFolder.open("s", {"study": "s", "keys": [1]}, folder / "study")
            study.finish({"command": "phasefit compare"})
            self._journal(folder)
        return folder

    def _journal(self, folder: Path) -> None:
        from phasefit.studies.search.optuna_study import open_study

        study = open_study("phasefit-x", None, folder, maximise=True, pruner="median")
        for value in (0.3, 0.6):
            trial = study.ask()
            trial.suggest_float("lr", 1e-5, 1e-3)
            trial.set_user_attr("settings", {"finetune.lr": value})
            study.tell(trial, value)

    @staticmethod
    def study() -> Any:
        from phasefit.studies.study import Data, Study, Variant

        variants = (Variant("base", "finetune"), Variant("ours", "three-phase"))
        return Study("s", "S", (Data("A", {"data": "snips"}),), variants, (0, 1))

    def draw(self, random: random.Random) -> Case:
        name = random.choice(["one", "several"])
        base = self.base(name)
        kinds = ["result.json"] * 8 + ["progress.jsonl"] * 3 + ["study.json"] * 2 + ["trials.journal"]
        file = random.choice(sorted(base.rglob(random.choice(kinds))))
        form = "bytes" if file.suffix in (".jsonl", ".journal") else "json"
        if form == "bytes" and random.random() < 0.6:  # edit one line as JSON
            line = json.loads(file.read_bytes().splitlines()[0])
            edits = draw_edits(random, json.dumps(line).encode(), "json")
            return Case(self.name, name, str(file.relative_to(base)), "first line", edits)
        return Case(self.name, name, str(file.relative_to(base)), form, draw_edits(random, file.read_bytes(), form))

    def prepare(self, case: Case) -> Path:
        from fuzz.edits import edited

        if case.form != "first line":
            return super().prepare(case)
        folder = super().prepare(Case(self.name, case.base, case.file, "bytes", []))
        file = sorted(folder.glob(case.file))[-1]
        first, _, rest = file.read_bytes().partition(b"\n")
        file.write_bytes(edited(first, case.edits, "json") + b"\n" + rest)
        return folder

    def may_change(self, folder: Path, case: Case) -> Path | None:
        return folder if case.file.endswith(("study.json", ".journal")) else None

    def execute(self, folder: Path, case: Case) -> None:
        if case.file.endswith("study.json"):
            self._manifest(folder)
        elif case.file.endswith(".journal"):
            self._search(folder)
        elif case.file.endswith(".jsonl"):
            self._progress(sorted(folder.glob(case.file))[-1])
        else:
            self._results(folder)

    def _results(self, folder: Path) -> None:
        from phasefit.studies.formats import to_csv, to_json, to_latex, to_markdown
        from phasefit.studies.result import read_result
        from phasefit.studies.run_study import page_content, repetitions
        from phasefit.studies.study import TableSpec
        from phasefit.studies.tables import fill

        study = self.study()
        cells = study.cells()
        read = {cell.key: read_result(folder / "cells" / cell.key) for cell in cells}
        results = {key: result for key, result in read.items() if result is not None}
        for spec in (TableSpec("T"), TableSpec("V", "validation.macro_f1"), TableSpec("L", "test.levels.0.accuracy")):
            table = fill(study, spec, cells, results)
            for row in table.rows:
                if not math.isfinite(row.mean):
                    raise WrongResult(f"a mean is {row.mean}")
            to_csv([table])
            to_latex("T", "", [table])
            to_markdown("T", "", [table])
            to_json(page_content(study, [table], cells, results, "", []))
        repetitions(cells, results)

    def _progress(self, path: Path) -> None:
        from phasefit.studies.result import read_evaluations
        from phasefit.studies.search.trials import new_epochs

        for score in ("macro_f1", "accuracy"):
            new_epochs(read_evaluations(path, "finetune"), 0, score, maximise=True)

    def _manifest(self, folder: Path) -> None:
        from phasefit.studies.folder import StudyFolder

        StudyFolder.open("s", {"study": "s", "keys": [1]}, folder / "study").finish({"command": "x"})

    def _search(self, folder: Path) -> None:
        from phasefit.studies.search.optuna_study import open_study, requeue_stopped
        from phasefit.studies.search.space import Space

        study = open_study("phasefit-x", None, folder, maximise=True, pruner="median")
        requeue_stopped(study, Space("none", {}))
        study.get_trials(deepcopy=False)
