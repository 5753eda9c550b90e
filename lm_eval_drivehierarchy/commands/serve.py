"""`drivehierarchy serve`: an OpenAI-compatible endpoint that answers like a baseline."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from drivehierarchy_data.editions import find_edition

from ..baselines import BASELINES, baseline
from ..serve import BaselineServer, ItemFinder, open_log


def serve(
    agent: Annotated[str, typer.Option(help=f"Who answers: {', '.join(BASELINES)}.")] = "prior",
    edition: Annotated[
        str | None, typer.Option(help="Name or folder of the edition; default: the one that lm_eval uses.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8765,
    seed: Annotated[int, typer.Option(help="Seed of the agent `random`.")] = 0,
    log: Annotated[Path | None, typer.Option(help="Append one JSON line per request to this file.")] = None,
) -> None:
    """Serve a baseline as an OpenAI-compatible chat endpoint, to try a pipeline without a model.

    Prints its base URL when it is ready; ends on Ctrl-C or SIGTERM.
    """
    found = find_edition(edition)
    server = BaselineServer(ItemFinder(found), baseline(agent, found, seed), agent, (host, port), open_log(log))
    typer.echo(f"{agent} answers for edition {found.name} ({found.folder}) at {server.url}")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
