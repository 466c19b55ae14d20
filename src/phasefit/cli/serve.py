"""`phasefit serve`: answer requests over HTTP."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from phasefit.cli import options as opt
from phasefit.cli.help import Panel
from phasefit.errors import PhasefitError

ADDRESS, LIMITS, EXPLANATIONS = Panel("Address"), Panel("Limits"), Panel("Explanations")
TOKEN = "PHASEFIT_TOKEN"


def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Folders of runs, saved models or exports; NAME=FOLDER chooses the name that requests use.",
        ),
    ],
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on; 0.0.0.0 accepts requests from other machines.",
            metavar="ADDRESS",
            rich_help_panel=ADDRESS,
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; 0: any free one.", min=0, max=65535, metavar="N", rich_help_panel=ADDRESS)
    ] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            help="Require this bearer token for everything except /health; better set the variable PHASEFIT_TOKEN, "
            "because other users can see command lines.",
            metavar="TEXT",
            rich_help_panel=ADDRESS,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name by which this server may be called, such as that of a proxy; repeat it for more. Without a "
            "token, a server on 127.0.0.1 refuses other names than localhost, because web pages could use them "
            "to reach it.",
            metavar="NAME",
            rich_help_panel=ADDRESS,
        ),
    ] = None,
    max_texts: Annotated[
        int, typer.Option(help="Texts per request.", min=1, metavar="N", rich_help_panel=LIMITS)
    ] = 256,
    max_characters: Annotated[
        int, typer.Option(help="Characters per text.", min=1, metavar="N", rich_help_panel=LIMITS)
    ] = 20_000,
    max_body: Annotated[
        float, typer.Option(help="The size of a request, in MB.", min=0.001, metavar="MB", rich_help_panel=LIMITS)
    ] = 2.0,
    timeout: Annotated[
        float,
        typer.Option(
            help="Seconds until a request without an answer fails with 504.",
            min=0.01,
            max=3600,
            metavar="S",
            rich_help_panel=LIMITS,
        ),
    ] = 30.0,
    batch_tokens: Annotated[
        int,
        typer.Option(help="Tokens that are computed at a time.", min=1, metavar="N", rich_help_panel=LIMITS),
    ] = 4096,
    queue_tokens: Annotated[
        int,
        typer.Option(
            help="Tokens that may wait; further requests get 429. A shorter queue means shorter waits.",
            min=1,
            metavar="N",
            rich_help_panel=LIMITS,
        ),
    ] = 65_536,
    drain_seconds: Annotated[
        float,
        typer.Option(
            help="Seconds to answer accepted requests after SIGTERM.",
            min=0,
            max=3600,
            metavar="S",
            rich_help_panel=LIMITS,
        ),
    ] = 30.0,
    max_connections: Annotated[
        int, typer.Option(help="Open connections; further ones get 503.", min=1, metavar="N", rich_help_panel=LIMITS)
    ] = 1024,
    training_texts: Annotated[
        bool,
        typer.Option(
            "--training-texts",
            help="Show the nearest training texts in explanations. Everyone who can use the server can then read them; "
            "they are read from the data of the run, or from an export that contains them.",
            rich_help_panel=EXPLANATIONS,
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain/--no-explain", help="Answer POST /explain, which takes long.", rich_help_panel=EXPLANATIONS
        ),
    ] = True,
    quiet: opt.Quiet = False,
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Serve models over HTTP, in formats that existing clients understand.

    POST /v1/classify (vLLM), /v1/embeddings (OpenAI), /predict and /embed (text-embeddings-inference), /explain; GET
    /health, /ready, /info, /metrics, /v1/models and /openapi.json. Open the address in a browser to try the model.
    Requests name a model by its folder's name, and a task as NAME/TASK.

    SIGTERM answers accepted requests and ends; SIGHUP loads the models again without dropping a request.

    $ phasefit serve runs/reviews
    $ phasefit serve reviews=runs/reviews-2 topics=runs/topics --port 9000
    $ curl localhost:8000/predict --json '{"inputs": "arrived broken"}'
    """
    from phasefit.cli.console import echo
    from phasefit.serve.hosts import allowed_hosts
    from phasefit.serve.libraries import check_libraries
    from phasefit.serve.limits import MEGABYTE, Limits
    from phasefit.serve.loading import named_paths

    check_libraries()
    token = checked_token(token)
    limits = Limits(
        max_texts,
        max_characters,
        int(max_body * MEGABYTE),
        timeout,
        batch_tokens,
        queue_tokens,
        drain_seconds,
        max_connections,
    )
    names = allowed_hosts(host, allow_host or [])
    paths = named_paths(models)

    from phasefit.cli.progress import waiting
    from phasefit.models.device import check_device
    from phasefit.serve.explaining import read_training
    from phasefit.serve.loading import Models, load_predictor
    from phasefit.serve.server import Address, run_server
    from phasefit.serve.service import Service

    def report(sentence: str) -> None:
        echo(f"phasefit: {sentence}", stderr=True)

    check_device(device)
    address = Address(host, port)
    listener = address.bind()
    try:
        with waiting("loading the models", quiet):
            shown = read_training if training_texts else None
            loaded = Models(paths, lambda path: load_predictor(path, device, threads), limits, shown)
    except BaseException:
        listener.close()
        raise
    if address.is_open and token is None:
        report(f"warning: anyone who can reach {host} can use this server; set {TOKEN} to require a token")
    if not quiet:
        where = f"[{host}]" if ":" in host else host
        report(f"serving {', '.join(loaded.names)} at http://{where}:{listener.getsockname()[1]}/ (stop: Control-C)")
    # On an open address, the names by which it is reached are unknown; with a token, a web page cannot reach it.
    hosts = names if allow_host or (token is None and not address.is_open) else None
    service = Service(loaded, limits, token=token, hosts=hosts, explains=explain, report=report)
    run_server(service, listener, report)


def checked_token(given: str | None) -> str | None:
    """The token of the option or the environment; raises if it cannot be sent in a header."""
    source = "--token" if given is not None else TOKEN
    token = given if given is not None else os.environ.get(TOKEN)
    if token is None:
        return None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise PhasefitError(f"{source} must be a text of ASCII letters, digits and signs without spaces")
    return token
