"""Run folders and checkpoints, through the commands that read them. Each case runs in a process of its own."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any, ClassVar

from fuzz.edits import draw_edits
from fuzz.harness import Bug, Case, Refused, Target, WrongResult
from phasefit.errors import Interrupted

SETTINGS = {"finetune.max_steps": 3, "finetune.evaluate_every": 1, "finetune.lr": 1e-3}
TEXTS = ["the song of the album", "rain and storm", "pizza for dinner"]
TRACE = re.compile(r'File "[^"]*/src/phasefit/([^"]+)", line \d+, in (\S+)')
WEIGHTS = {  # how often a file is drawn
    "phasefit.json": 12,
    "labels.json": 6,
    "metrics.json": 4,
    "recipe.toml": 4,
    "heads.safetensors": 4,
    "trained_on.safetensors": 2,
    "facts.json": 12,
    "tensors.safetensors": 4,
}


class Commands(Target):
    """A target whose cases run a command on the copy of a run."""

    dangerous = True
    seconds = 20.0

    def tiny(self) -> Path:
        """The encoder that all runs start from."""
        folder = self.bases.parent / "tiny"
        if not folder.is_dir():
            from tiny import save_tiny

            folder.mkdir()
            save_tiny(folder)
        return folder / "model"

    def trained(self, folder: Path, kind: str, *, stop_after: int | None = None, **options: Any) -> None:
        """A run of this kind of labels; with `stop_after`, one that was interrupted after that step."""
        from phasefit.events import Event, StepDone
        from phasefit.runs import train
        from specs import run_spec
        from tiny import make_table, write_csv

        texts, labels = make_table(40)
        cells: list[Any] = list(labels)
        if kind == "multi":
            cells = [
                f"{label}|{'long' if len(text) > 40 else 'short'}" for text, label in zip(texts, labels, strict=True)
            ]
        if kind == "score":
            cells = [len(text) / 8 for text in texts]
        folder.mkdir(parents=True)
        table = write_csv(folder / "table.csv", texts, cells)
        write_csv(folder / "texts.csv", TEXTS, cells[:3])
        (folder / "out").mkdir()

        def listen(event: Event) -> None:
            if stop_after is not None and isinstance(event, StepDone) and event.step == stop_after:
                raise Interrupted

        how = {
            "model": str(self.tiny()),
            "recipe": "finetune",
            "settings": SETTINGS,
            "out": folder / "run",
            "threads": 1,
        }
        spec = run_spec(table, kind=None if kind == "single" else kind, report=False, **{**how, **options})
        try:
            train.train(spec, listen)
        except Interrupted:
            return

    def file(self, random: random.Random, base: Path) -> str:
        """A file of the run, the important ones more often."""
        files = sorted(
            path for path in base.joinpath("run").rglob("*") if path.suffix in (".json", ".toml", ".safetensors")
        )
        weights = [WEIGHTS.get(path.name, 1) for path in files]
        return str(random.choices(files, weights)[0].relative_to(base))

    def edit(self, random: random.Random, base: Path, file: str) -> Case:
        """Damage, which the checksums show, or an attack: a stranger adapts them."""
        forms = {".json": "json", ".toml": "toml", ".safetensors": "tensors"}
        form, attack = forms[Path(file).suffix], random.random() < 0.7
        edits = draw_edits(random, (base / file).read_bytes(), form)
        return Case(self.name, base.name, file, form, edits, more={"attack": attack})

    def prepare(self, case: Case) -> Path:
        folder = super().prepare(case)
        if case.more.get("attack"):
            _adapt_checksums(folder / "run", case.file)
        return folder

    def invoke(self, folder: Path, *words: str) -> None:
        """Run a command; raises Refused or Bug if it does not succeed."""
        from typer.testing import CliRunner

        from phasefit.cli.app import app

        words = tuple(word.replace("{}", str(folder)) for word in words)
        result = CliRunner().invoke(app, words, env={"PHASEFIT_DEBUG": "1"})
        if result.exit_code == 0:
            return
        lines = [line for line in result.stderr.splitlines() if line.startswith("phasefit: ")]
        message = lines[-1].removeprefix("phasefit: ") if lines else result.output[-300:]
        if result.exit_code != 2 or "Traceback" not in result.stderr:
            places = TRACE.findall(result.stderr)
            where = f"{message.partition(':')[0]} in {':'.join(places[-1])}" if places else message[:60]
            raise Bug(f"exit {result.exit_code}: {message[:200]}", where)
        raise Refused(message)


class Models(Commands):
    """Every file of a finished run: manifest, labels, metrics, recipe, heads, and the encoder's own files."""

    name: ClassVar[str] = "models"

    READING: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("predict", "{}/run", "{}/texts.csv", "-o", "{}/out/p.csv", "-q"),
        ("predict", "{}/run", "{}/texts.csv", "-o", "{}/out/p.csv", "-q"),
        ("evaluate", "{}/run", "{}/table.csv"),
        ("embed", "{}/run", "{}/texts.csv", "-o", "{}/out/e.npy", "-q"),
        ("geometry", "{}/run"),
        (
            "train",
            "{}/table.csv",
            "-m",
            "{}/run",
            "-r",
            "finetune",
            "-s",
            "finetune.max_steps=1",
            "-o",
            "{}/out/new",
            "-q",
        ),
        ("load",),
    )

    def base(self, name: str) -> Path:
        folder = self.bases / name
        if not folder.is_dir():
            self.trained(folder, name)
        return folder

    def intact(self) -> list[Case]:
        commands = dict.fromkeys(self.READING)
        return [
            Case(self.name, "single", "run/labels.json", "bytes", [], more={"command": list(one)}) for one in commands
        ]

    def draw(self, random: random.Random) -> Case:
        base = self.base(random.choice(["single", "single", "multi", "score"]))
        drawn = self.edit(random, base, self.file(random, base))
        command = random.choice([*self.READING, ("train", "--resume", "{}/run", "-q")])
        more = {**drawn.more, "command": list(command)}
        return Case(drawn.target, drawn.base, drawn.file, drawn.form, drawn.edits, more=more)

    def may_change(self, folder: Path, case: Case) -> Path | None:
        return folder if "--resume" in case.more["command"] else folder / "out"

    def execute(self, folder: Path, case: Case) -> None:
        command = case.more["command"]
        if command == ["load"]:
            from phasefit import TextClassifier, TextRegressor

            estimator = TextRegressor if case.base == "score" else TextClassifier
            predicted = estimator.load(folder / "run").predict(TEXTS)
            if len(predicted) != len(TEXTS):
                raise WrongResult(f"{len(predicted)} predictions")
            return
        self.invoke(folder, *command)
        if command[0] == "predict":
            _check_predictions(folder / "out" / "p.csv")


def _adapt_checksums(run: Path, edited: str) -> None:
    """Write the checksums of the files as they are now; the edited file keeps its content."""
    from phasefit.files.integrity import FILES, hash_files
    from phasefit.training.checkpoints import CHECKSUMS, FACTS, TENSORS, write_checksums

    manifest = run / "phasefit.json"
    content = json.loads(manifest.read_text(encoding="utf-8")) if not edited.endswith(manifest.name) else {}
    if FILES in content:
        manifest.write_text(json.dumps({**content, FILES: hash_files(run)}), encoding="utf-8")
    for checkpoint in (run / "checkpoints").glob("*"):
        if not edited.endswith(CHECKSUMS) and (checkpoint / FACTS).is_file() and (checkpoint / TENSORS).is_file():
            write_checksums(checkpoint)


def _check_predictions(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if [row["text"] for row in rows] != TEXTS:
        raise WrongResult("the rows are not those of the input")
    for row in rows:
        for name, value in row.items():
            if name is not None and name.startswith("probability") and not 0 <= float(value or "nan") <= 1:
                raise WrongResult(f"{name} is {value!r}")


class Checkpoints(Commands):
    """An interrupted run: its manifest and its checkpoints. Resuming finishes it or refuses it."""

    name: ClassVar[str] = "checkpoints"

    def base(self, name: str) -> Path:
        folder = self.bases / name
        if not folder.is_dir():
            refit = name == "refit"
            self.trained(folder, "single", stop_after=2, checkpoint_minutes=0, refit=refit)
        return folder

    def intact(self) -> list[Case]:
        return [Case(self.name, "stopped", "run/recipe.toml", "bytes", [])]

    def draw(self, random: random.Random) -> Case:
        base = self.base("stopped")
        while True:
            case = self.edit(random, base, self.file(random, base))
            if not any("compile" in edit.get("at", ()) for edit in case.edits):  # valid, and takes a minute
                return case

    def may_change(self, folder: Path, case: Case) -> Path | None:
        return folder

    def prepare(self, case: Case) -> Path:
        folder = super().prepare(case)
        if case.more.get("same"):
            self._expected(case)
        for old in sorted((folder / "run" / "checkpoints").glob("*"))[:-1]:
            shutil.rmtree(old)  # so that the damaged one matters
        return folder

    def execute(self, folder: Path, case: Case) -> None:
        from phasefit.files.manifest import read_manifest

        self.invoke(folder, "train", "--resume", "{}/run", "-q", "--device", "cpu")
        read_manifest(folder / "run")
        if case.more.get("same") and self._weights(folder) != self._expected(case):
            raise WrongResult("the resumed run has other weights than one without damage")

    def _expected(self, case: Case) -> str:
        """The hash of the weights of the run, resumed without damage."""
        note = self.place / f"{case.base}.sha256"
        if not note.is_file():
            copy = self.place / "resumed"
            shutil.copytree(self.base(case.base), copy)
            self.invoke(copy, "train", "--resume", "{}/run", "-q", "--device", "cpu")
            note.write_text(self._weights(copy))
        return note.read_text()

    @staticmethod
    def _weights(folder: Path) -> str:
        files = ("encoder/model.safetensors", "heads.safetensors")
        return hashlib.sha256(b"".join((folder / "run" / name).read_bytes() for name in files)).hexdigest()
