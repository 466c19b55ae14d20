"""`phasefit push`: a run, a saved model or an exported model as a repository on the Hugging Face hub."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phasefit.cli import options as opt
from phasefit.errors import ModelError, PhasefitError

if TYPE_CHECKING:
    from phasefit.hub.upload import Push, Pushed, PushOptions
    from phasefit.report.card.hub_card import CardAnswers


def push(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run, a saved or an exported model.")],
    repository: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository on the hub.")],
    public: Annotated[
        bool, typer.Option("--public", help="Create a public repository.\f The default is a private one.")
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Add a commit to a repository that already holds files; older commits are kept."
        ),
    ] = False,
    message: Annotated[str, typer.Option(help="The message of the commit.", metavar="TEXT")] = "",
    licence: Annotated[
        str | None,
        typer.Option(help="The licence of the model, such as apache-2.0; none is stated by default.", metavar="ID"),
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option(help="A language of the texts, such as en; repeat it for more.", metavar="CODE")
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="A dataset on the hub that it was trained on; repeat it for more.", metavar="OWNER/NAME"),
    ] = None,
    with_report: Annotated[
        bool, typer.Option("--with-report", help="Also push report.html, which contains texts of your data.")
    ] = False,
    with_texts: Annotated[
        bool, typer.Option("--with-texts", help="Also push the training texts of an exported model, if it has them.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="List the files and the metadata of the card, without pushing anything.")
    ] = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Push a model to the Hugging Face hub.

    The repository is private unless you give --public. It gets the model, its labels, recipe and metrics, the card and
    the pictures: no training texts, no predictions, no checkpoints. Everything is one commit, or nothing changes. Log
    in first with 'hf auth login', or set HF_TOKEN.

    $ phasefit push runs/reviews alice/reviews
    $ phasefit push runs/reviews alice/reviews --overwrite --licence apache-2.0
    $ phasefit push runs/reviews alice/reviews --plan
    $ phasefit predict hub:alice/reviews --say "arrived broken"
    """
    from phasefit.cli.inputs import check_run
    from phasefit.hub.names import is_hub_name
    from phasefit.hub.upload import PushOptions
    from phasefit.report.card.hub_card import CardAnswers

    if is_hub_name(run):
        raise ModelError(f"{run} is on the hub already; give the folder of a run")
    check_run(run)
    options = PushOptions(public, overwrite, with_report, with_texts, message)
    answers = CardAnswers(licence, tuple(language or ()), tuple(dataset or ()))
    planned = plan_folder(Path(run).expanduser(), repository, options, answers)
    if plan:
        show_plan(planned, json=json)
        return
    show_pushed(push_planned(planned, quiet=quiet), json=json)


def plan_folder(folder: Path, repository: str, options: PushOptions, answers: CardAnswers | None = None) -> Push:
    """What would be pushed; the folder and the card are checked."""
    from phasefit.hub.contents import open_folder
    from phasefit.hub.names import check_repository
    from phasefit.hub.upload import plan_push
    from phasefit.report.card.hub_card import CardAnswers, hub_card

    name, model = check_repository(repository), open_folder(folder)
    card = hub_card(model, name, answers or CardAnswers(), report=options.report)
    return plan_push(model, name, card, options)


def push_planned(planned: Push, quiet: bool = False) -> Pushed:
    """Push while showing that something happens."""
    from phasefit.cli.progress import waiting
    from phasefit.hub.upload import push as push_folder

    with waiting(f"pushing {len(planned.add)} files ({in_bytes(planned.size)}) to {planned.repository}", quiet):
        return push_folder(planned)


def push_finished(folder: Path, repository: str, quiet: bool = False) -> Pushed:
    """Push a run that has just been trained; an error states how to push it again."""
    from phasefit.hub.upload import PushOptions

    try:
        return push_planned(plan_folder(folder, repository, PushOptions()), quiet)
    except PhasefitError as error:
        again = shlex.join(["phasefit", "push", str(folder), repository])
        raise ModelError(f"the run in {folder} is finished, but not pushed: {error}; then: {again}") from None


def show_plan(planned: Push, json: bool = False) -> None:
    """Print the files with their sizes, and the front matter of the card."""
    from phasefit.cli.console import echo, print_json
    from phasefit.hub.contents import CARD
    from phasefit.hub.library import read_card, yaml_of

    metadata = read_card(bytes(planned.add[CARD]).decode())[0] if isinstance(planned.add[CARD], bytes) else {}
    sizes = {name: _size(content) for name, content in sorted(planned.add.items())}
    if json:
        print_json({"repository": planned.repository, "files": sizes, "card": metadata})
        return
    for name, size in sizes.items():
        echo(f"{in_bytes(size):>9}  {name}")
    echo(f"{in_bytes(planned.size):>9}  in {len(sizes)} files for {planned.repository}\n")
    echo(yaml_of(metadata).rstrip())


def show_pushed(pushed: Pushed, json: bool = False) -> None:
    """Print where the model is, and the next command."""
    from dataclasses import asdict

    from phasefit.cli.console import print_json, stdout

    if json:
        print_json(asdict(pushed))
        return
    console = stdout()
    kind = "private" if pushed.private else "public"
    console.print(f"The model is at {pushed.address} ({kind}), commit {pushed.commit[:12]}", soft_wrap=True)
    if pushed.replaced is not None:
        console.print(f"The previous one is hub:{pushed.repository}@{pushed.replaced}", soft_wrap=True)
    console.print("Next:", style="bold")
    console.print(f"  phasefit predict hub:{pushed.repository} new.csv -o predictions.csv", soft_wrap=True)


def in_bytes(size: int) -> str:
    """A size with a unit."""
    value, units = float(size), ["B", "kB", "MB", "GB"]
    while value >= 1000 and len(units) > 1:
        value, _ = value / 1000, units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "B" or value >= 100 else f"{value:.1f} {units[0]}"


def _size(content: Any) -> int:
    return len(content) if isinstance(content, bytes) else int(content.stat().st_size)
