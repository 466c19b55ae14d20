"""`phasefit verify`: compare the model files of a run with the checksums in its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from phasefit.cli import options as opt
from phasefit.cli.errors import BAD_INPUT

if TYPE_CHECKING:
    from rich.text import Text

STYLES = {"intact": "green", "damaged": "bold red", "missing": "bold red", "foreign": "bold yellow"}


def verify(run: opt.Run, json: opt.Json = False, quiet: opt.Quiet = False) -> None:
    """Check whether the model files of a run or saved model are as they were written.

    Every file is compared with its checksum in phasefit.json: it is intact, damaged or missing; a file without a
    checksum in the folder of the encoder is foreign. The exit code is 0 if all are intact, otherwise 2. Checksums
    detect damage, not tampering: whoever changes a file on purpose can change its checksum too.

    $ phasefit verify runs/reviews
    """
    from phasefit.cli.console import print_json, stdout
    from phasefit.cli.inputs import check_run

    check_run(run)
    found = states_of(Path(run).expanduser())
    if json:
        print_json(found)
    else:
        for name, state in found["files"].items():
            if not quiet or state != "intact":
                stdout().print(_line(name, state), soft_wrap=True)
        stdout().print(_summary(run, found), soft_wrap=True)
    if found["status"] != "intact":
        raise typer.Exit(BAD_INPUT)


def states_of(folder: Path) -> dict[str, Any]:
    """The state of a folder (intact, damaged, unverified or unfinished) and of each of its files."""
    from phasefit.files.atomic import read_json
    from phasefit.files.integrity import compare_files, has_checksums
    from phasefit.files.links import refuse_links
    from phasefit.files.manifest import FINISHED, MANIFEST, check_format, refuse_export

    refuse_links(folder)
    refuse_export(folder)
    manifest = check_format(folder, read_json(folder / MANIFEST))
    facts: dict[str, Any] = {"format": manifest["format"]}
    if manifest.get("status") != FINISHED:
        return {"status": "unfinished", **facts, "files": {}}
    if not has_checksums(manifest):
        return {"status": "unverified", **facts, "files": {}}
    states = compare_files(folder, manifest)
    whole = all(state == "intact" for state in states.values())
    return {"status": "intact" if whole else "damaged", **facts, "files": states}


def _line(name: str, state: str) -> Text:
    from rich.text import Text

    from phasefit.cli.console import printable

    return Text.assemble((f"{state:<8}", STYLES[state]), f" {printable(name, 200)}")


def _summary(run: str, found: dict[str, Any]) -> str:
    if found["status"] == "unfinished":
        return f"{run} is not finished and has no checksums yet; resume it: phasefit train --resume {run}"
    if found["status"] == "unverified":
        return f"{run} is unverified: it has format {found['format']}, which has no checksums; train or save it again"
    counts = {name: list(found["files"].values()).count(name) for name in STYLES}
    if found["status"] == "intact":
        return f"{run} is intact: {counts['intact']} files"
    return f"{run} is damaged: " + ", ".join(f"{count} {name}" for name, count in counts.items() if count)
