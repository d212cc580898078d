"""The JSON API of the live server, for dashboards and scripts.

It gives the same data as the pages. Each response has the name of its documented schema, such as
``tare.live.campaign/1``, in the field ``schema``.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tare.analysis.verdicts.headline import Headline
from tare.core.attempt import State
from tare.core.verdict import json_value
from tare.live.campaign_state import CampaignState
from tare.live.logs import read_chunk
from tare.live.lookup import find_attempt, find_campaign, find_stream, hub_of, whole_number
from tare.live.view import activity
from tare.live.watch import FollowedCampaign

_MOST_RUNS = 1000


def campaigns(request: Request) -> Response:
    """Return a summary of every campaign."""
    hub = hub_of(request)
    with hub.lock:
        return _json("tare.serve.campaigns/1", {"campaigns": [_brief(one) for one in hub.campaigns.values()]})


def campaign(request: Request) -> Response:
    """Return one campaign: its progress, the state of each planned run, and the statistics so far."""
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    with hub.opened(watched) as opened:
        body = _brief(watched)
        if opened:
            campaign_state, statistics = opened
            body |= {
                "question": campaign_state.plan.question,
                "sentences": [one.sentence for one in statistics.sentences],
                "headlines": [_headline(one) for one in statistics.headlines],
                "overview": statistics.overview,
                "figures": statistics.figures,
                "why": [
                    {"sentence": text, "attribution": one}
                    for text, one in zip(statistics.why.sentences, statistics.why.attributions, strict=True)
                ],
                "cases": {case.id: case.settings for case in campaign_state.plan.cases},
                "matrix": _matrix(campaign_state),
            }
        return _json("tare.serve.campaign/1", body)


def _headline(headline: Headline) -> dict[str, object]:
    """Return a headline as version 1 of the schema has it, with a list for its one workload."""
    shown = msgspec.structs.asdict(headline) | {"workloads": [headline.workload]}
    del shown["rows"]  # they are among the figures
    return shown


def runs(request: Request) -> Response:
    """Return up to 1000 attempts in the journal's order, starting at index `from` (a query parameter)."""
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    with hub.opened(watched) as opened:
        campaign_state = _require(opened and opened[0])
        start = whole_number(request, "from", 0)
        found = list(campaign_state.attempts.values())
        shown = [
            {
                "case": one.case,
                "block": one.block,
                "attempt": one.attempt,
                "state": campaign_state.state_of(one),
                "reason": campaign_state.reason_of(one),
                "check": one.check,
                "started_at": one.started_at,
                "elapsed_s": one.elapsed_s,
                "transport": one.transport,
                "proof": one.proof,
                "chosen": one.chosen,
                "folder": one.folder,
            }
            for one in found[start : start + _MOST_RUNS]
        ]
        return _json("tare.serve.runs/1", {"n_runs": len(found), "from": start, "runs": shown})


def run(request: Request) -> Response:
    """Return one attempt with its figures, as the journal records it."""
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    with hub.opened(watched) as opened:
        campaign_state = _require(opened and opened[0])
        one = find_attempt(campaign_state, request)
        state = campaign_state.state_of(one)
        if state is not one.state:
            one = msgspec.structs.replace(one, state=state, reason=campaign_state.reason_of(one))
        return _json("tare.serve.run/1", {"attempt": one})


def log(request: Request) -> Response:
    """Return up to 64 KiB of a stream.

    The query parameter `from` gives the first byte, or `before` the byte where the part ends. Without
    either, the response has the end of the stream.
    """
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    with hub.opened(watched) as opened:
        campaign_state = _require(opened and opened[0])
        one, path = find_stream(campaign_state, request)
        is_live = campaign_state.state_of(one) is State.RUNNING
    query = request.query_params
    start = whole_number(request, "from", 0) if "from" in query else None
    before = whole_number(request, "before", 0) if "before" in query else None
    try:
        chunk = read_chunk(path, start, before=before, pseudonyms=watched.pseudonyms, is_live=is_live)
    except OSError as error:
        raise HTTPException(404, f"It cannot be read: {os.strerror(error.errno or 0)}") from error
    return _json("tare.serve.log/1", {**msgspec.structs.asdict(chunk), "is_live": is_live})


async def events(request: Request) -> Response:
    """Send the revision of each campaign whenever one changes, until the client leaves (server-sent events).

    The query parameter `c` restricts the events to some campaigns. If nothing changes for a while, a comment
    is sent, which keeps the connection open.
    """
    hub = await run_in_threadpool(hub_of, request)
    wanted = set(request.query_params.getlist("c"))

    async def stream() -> AsyncIterator[bytes]:
        yield b"retry: 2000\n\n"
        sent: dict[str, int] | None = None
        async for revisions in hub.changes():
            if revisions is None:
                yield b": still here\n\n"
                continue
            found = {name: at for name, at in revisions.items() if not wanted or name in wanted}
            if found != sent:
                sent = found
                yield b"event: change\ndata: " + msgspec.json.encode(found) + b"\n\n"

    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    # With these headers, no proxy compresses or buffers the events: they must arrive at once.
    headers = {"content-encoding": "identity", "x-accel-buffering": "no"}
    return StreamingResponse(stream(), media_type="text/event-stream", headers=headers)


_RUN = "/api/c/{name}/run/{case}/{attempt}"
ROUTES = [
    Route("/api/campaigns", campaigns),
    Route("/api/c/{name}", campaign),
    Route("/api/c/{name}/runs", runs),
    Route(_RUN, run),
    Route(f"{_RUN}/log/{{stream}}", log),
    Route("/events", events),
]


def _json(schema: str, body: Mapping[str, object]) -> Response:
    text = msgspec.json.encode({"schema": schema, **body}, enc_hook=json_value)
    return Response(text, media_type="application/json")


def _require(campaign_state: CampaignState | None) -> CampaignState:
    if campaign_state is None:
        raise HTTPException(503, "The plan of this campaign cannot be read.")
    return campaign_state


def _brief(watched: FollowedCampaign) -> dict[str, object]:
    campaign_state = watched.campaign_state
    brief: dict[str, object] = {
        "name": watched.name,
        "folder": watched.shown_folder,
        "revision": watched.revision,
        "fault": watched.fault,
    }
    if campaign_state is None:
        return brief
    progress = campaign_state.progress()
    return brief | {
        "study": campaign_state.plan.study,
        "site": campaign_state.plan.site,
        "state": activity(campaign_state, progress),
        "is_running": campaign_state.is_running,
        "counts": {str(state): n for state, n in progress.counts.items()},
        "runs": progress.n_planned,
        "eta_s": progress.eta_s,
        "eta_is_least": progress.eta_s is not None and progress.is_least,
        "under_way": [
            {"case": one.case, "block": one.block, "attempt": one.attempt, "folder": one.folder}
            for one in progress.under_way
        ],
    }


def _matrix(campaign_state: CampaignState) -> dict[str, dict[int, str]]:
    """Return the state of each planned run by case and block."""
    found: dict[str, dict[int, str]] = {}
    for one in campaign_state.planned:
        found.setdefault(one.case, {})[one.block] = campaign_state.state(one)
    return found
