"""The card of a model on the hub: that of its folder, with the name, the metadata and the usage of the repository.

People may edit the README.md of a run: their front matter and text are kept. Only the parts between marks such as
`<!-- usage -->` and `<!-- /usage -->` are replaced or left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError
from phasefit.hub.contents import CARD, ModelFolder, without_folder
from phasefit.hub.library import read_card, yaml_of
from phasefit.hub.names import PREFIX
from phasefit.report.card.card import usage_facts
from phasefit.report.card.markdown import escape, render
from phasefit.report.card.metadata import card_metadata, with_answers
from phasefit.runs.run import Run

LICENCE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}")
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?|code|multilingual")
DATASET = re.compile(r"([A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)


@dataclass(frozen=True)
class CardAnswers:
    """What only a person knows about a model."""

    licence: str | None = None
    languages: Sequence[str] = ()
    datasets: Sequence[str] = ()

    def check(self) -> None:
        """Raise ModelError if an answer is not written as the hub expects it."""
        if self.licence is not None and not LICENCE.fullmatch(self.licence):
            raise ModelError(
                f"the licence '{self.licence}' must be an identifier of the hub, such as apache-2.0 or mit"
            )
        for language in self.languages:
            if not LANGUAGE.fullmatch(language):
                raise ModelError(f"the language '{language}' must be a code, such as en or de")
        for dataset in self.datasets:
            if not DATASET.fullmatch(dataset):
                raise ModelError(
                    f"the dataset '{dataset}' must be the name of a dataset on the hub, such as owner/name"
                )


def hub_card(model: ModelFolder, repository: str, answers: CardAnswers, *, report: bool = False) -> str:
    """The README.md of a repository, from that of the folder if it has one."""
    answers.check()
    path = model.folder / CARD
    metadata, body = read_card(path.read_text(encoding="utf-8")) if path.is_file() else ({}, "")
    title = repository.rpartition("/")[2]
    if model.is_export:
        metadata = {**_export_metadata(model.manifest, title), **metadata}
    else:
        run = Run.open(model.folder)
        metadata = {**_own_metadata(run, title), **metadata}
        body = _with_usage(body, run, repository)
    metadata = with_answers(
        metadata, licence=answers.licence, languages=answers.languages, datasets=answers.datasets, name=title
    )
    body = _without_folders(body, model.manifest) if body.strip() else f"\n# {escape(title)}\n"
    for part in ["command", *([] if report else ["report"])]:
        body = replace_part(body, part, "")
    return f"---\n{yaml_of(metadata)}---\n{body.rstrip()}\n"


def replace_part(text: str, part: str, content: str) -> str:
    """The text with other content between the marks of a part; without content the marks are removed too."""
    marked = re.compile(rf"<!-- {part} -->\n.*?<!-- /{part} -->\n*", re.DOTALL)
    new = f"<!-- {part} -->\n{content.strip()}\n<!-- /{part} -->\n\n" if content.strip() else ""
    return marked.sub(lambda _: new, text)


def _own_metadata(run: Run, name: str) -> dict[str, Any]:
    data = run.manifest.get("data")
    return card_metadata(
        name=name,
        manifest=run.manifest,
        metrics=run.metrics,
        data=data if isinstance(data, Mapping) else {},
        embeds=run.only_embeds,
        encoder=run.has_encoder,
    )


def _export_metadata(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The front matter of an exported model, whose manifest knows neither the data nor the scores of the run."""
    content = card_metadata(
        name=name,
        manifest={"model": manifest.get("model")},
        metrics={},
        data={},
        embeds=not manifest.get("tasks"),
        encoder=False,
    )
    return {**content, "tags": [*content["tags"], str(manifest.get("engine"))]}


def _with_usage(body: str, run: Run, repository: str) -> str:
    """The text with commands that load the model from the hub; they are added if the text has no such part."""
    tasks = list(run.heads)
    several = len(tasks) > 1
    kind = "none" if run.only_embeds else "tasks" if several else next(iter(run.spaces.values())).kind
    usage = render(
        "usage.md",
        kind=kind,
        encoder=run.has_encoder,
        tasks=tasks if several else [],
        **usage_facts(f"{PREFIX}{repository}", repository, kind=kind, pairs=run.takes_pairs(), on_hub=True),
    )
    if not body.strip():
        title = escape(repository.rpartition("/")[2])
        return f"\n# {title}\n\n## Usage\n\n<!-- usage -->\n{usage.strip()}\n<!-- /usage -->\n"
    return replace_part(body, "usage", usage)


def _without_folders(body: str, manifest: Mapping[str, Any]) -> str:
    """The text without the absolute paths of the model that training started from."""
    for name in ("model", "went_on_from"):
        value = manifest.get(name)
        if isinstance(value, str) and without_folder(value) != value:
            for text in (value, escape(value)):
                body = body.replace(text, escape(Path(value).name))
    return body
