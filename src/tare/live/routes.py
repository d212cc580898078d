"""The routes of the HTML pages, and of the parts of a page that are replaced when a campaign changes."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tare.core.errors import CampaignError
from tare.live import pages
from tare.live.campaign_state import CampaignState
from tare.live.charts import changes, scatter
from tare.live.columns import CampaignColumn, table
from tare.live.full import full_report
from tare.live.logs import OpenedFile
from tare.live.lookup import find_attempt, find_campaign, find_stream, hub_of, whole_number
from tare.live.run_view import run_page
from tare.live.statistics import Statistics
from tare.live.view import Card, campaign_url, card, cell_news, matrix, run_list, run_url
from tare.live.watch import FollowedCampaign, Hub
from tare.report.words.numbers import visible

_ORDER = ("running", "damaged", "stopped", "not begun", "finished")
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


def overview(request: Request) -> Response:
    """Return the page of all campaigns."""
    hub = hub_of(request)
    with hub.lock:
        return _page("overview.html", _overview(hub), live="/live", revision=hub.revision, watch="")


def overview_parts(request: Request) -> Response:
    """Return the parts of the page of all campaigns that can change."""
    hub = hub_of(request)
    with hub.lock:
        return _parts(hub.revision, {"cards": pages.render("cards.html", _overview(hub))})


def campaign(request: Request) -> Response:
    """Return the page of one campaign."""
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    with hub.opened(watched) as opened:
        values: dict[str, object] = {"card": _card(watched), "variants": None}
        if opened:
            campaign_state, statistics = opened
            values |= {
                **_statistics_values(campaign_state, statistics),
                **_runs(request, watched, campaign_state, statistics),
                "matrix": matrix(campaign_state, statistics.variants),
                "variants": statistics.variants,
            }
        query = f"?{request.url.query}" if request.url.query else ""
        live = f"{campaign_url(watched.name)}/live{query}"
        return _page("campaign.html", values, live=live, revision=watched.revision, watch=watched.name)


def campaign_parts(request: Request) -> Response:
    """Return the parts of a campaign's page that changed after revision `since` (a query parameter)."""
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    with hub.opened(watched) as opened:
        found = _card(watched)
        parts = {"status": pages.render("status.html", {"card": found})}
        if opened is None:
            return _parts(watched.revision, parts)
        campaign_state, statistics = opened
        since = whole_number(request, "since", 0)
        since = since if since <= watched.revision else 0
        values = {"card": found, **_runs(request, watched, campaign_state, statistics)}
        parts["runs"] = pages.render("runs.html", values)
        parts["why"] = pages.render("why.html", {"card": found, "why": statistics.why})
        if watched.statistics_revision > since:
            values = _statistics_values(campaign_state, statistics)
            parts["answers"] = pages.render("answers.html", values)
            parts["chart"] = pages.render("chart.html", values)
        if campaign_state.matrix_revision > since:
            values = {"card": found, "matrix": matrix(campaign_state, statistics.variants)}
            parts["matrix"] = pages.render("matrix.html", values)
            return _parts(watched.revision, parts)
        return _parts(
            watched.revision, parts, cells=cell_news(campaign_state, campaign_state.changed_since(since))
        )


def run(request: Request) -> Response:
    """Return the page of one attempt: its output, commands and evidence."""
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    with hub.opened(watched) as opened:
        campaign_state, statistics = _require(opened)
        attempt = find_attempt(campaign_state, request)
        revision = watched.revision
        found = run_page(watched.name, campaign_state, statistics.variants, attempt, watched.pseudonyms)
    values = {"run": found, "name": watched.name}
    return _page("run.html", values, live=f"{found.url}/live", revision=revision, watch=watched.name)


def run_parts(request: Request) -> Response:
    """Return the parts of a run's page that can change.

    The output is among them only if the number of streams differs from the query parameter `streams`.
    """
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    with hub.opened(watched) as opened:
        campaign_state, statistics = _require(opened)
        found = run_page(
            watched.name,
            campaign_state,
            statistics.variants,
            find_attempt(campaign_state, request),
            watched.pseudonyms,
        )
        revision = watched.revision
    values = {"run": found, "name": watched.name}
    parts = {name: pages.render(f"run_{name}.html", values) for name in ("facts", "details")}
    if len(found.streams) != whole_number(request, "streams", 0):
        parts["output"] = pages.render("run_output.html", values)
    return _parts(revision, parts)


def file(request: Request) -> Response:
    """Return a whole stream, or a range of it, as plain text exactly as the run wrote it."""
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    with hub.opened(watched) as opened:
        _, stream = find_stream(_require(opened)[0], request)
    try:
        return OpenedFile(stream)
    except OSError as error:
        raise HTTPException(404, "This file cannot be read.") from error


def compare(request: Request) -> Response:
    """Return the page that compares several campaigns."""
    hub = hub_of(request)
    values = _compared(hub, request)
    chosen = request.query_params.getlist("c")
    live = f"/compare/live?{urlencode([('c', name) for name in chosen])}"
    values |= {"all_cards": _cards(hub), "chosen": chosen}
    return _page("compare.html", values, live=live, revision=hub.revision, watch="")


def compare_parts(request: Request) -> Response:
    """Return the parts of the comparison page that can change."""
    hub = hub_of(request)
    return _parts(hub.revision, {"columns": pages.render("columns.html", _compared(hub, request))})


def report(request: Request) -> Response:
    """Return the full report of the current state, with the Content-Security-Policy that it states itself."""
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    try:
        page = full_report(watched)
    except CampaignError as error:
        raise HTTPException(503, visible(watched.pseudonyms.text(str(error)))) from error
    policy = _POLICY.search(page)
    own = html.unescape(policy[1]) if policy else "default-src 'none'"
    return HTMLResponse(page, headers={"content-security-policy": f"{own}; frame-ancestors 'none'"})


def evidence(request: Request) -> Response:
    """Redirect a report's link to a run's folder to the page of that run."""
    hub = hub_of(request)
    watched = find_campaign(hub, request)
    with hub.opened(watched) as opened:
        attempt = find_attempt(_require(opened)[0], request)
    return RedirectResponse(run_url(watched.name, attempt), 303)


def static(request: Request) -> Response:
    """Return one of the package's static files."""
    name = request.path_params["name"]
    if name not in pages.STATIC:
        raise HTTPException(404, "There is no such file.")
    return Response(pages.static(name), media_type=pages.STATIC[name], headers={"cache-control": "no-cache"})


def failed(request: Request, error: Exception) -> Response:
    """Return an error page for a failed request."""
    status, text = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    titles = {404: "Not here", 405: "Only reading", 503: "Not readable now"}
    values = {"title": titles.get(status, "That did not work"), "text": text}
    return HTMLResponse(pages.render("message.html", values), status)


def unreadable(request: Request, error: Exception) -> Response:
    """Return an error page for a request that needs what the file system does not give."""
    why = error.strerror if isinstance(error, OSError) else ""
    return failed(request, HTTPException(503, f"A file of this campaign cannot be read: {why}."))


_RUN = "/c/{name}/run/{case}/{attempt}"
ROUTES = [
    Route("/", overview),
    Route("/live", overview_parts),
    Route("/compare", compare),
    Route("/compare/live", compare_parts),
    Route("/c/{name}", campaign),
    Route("/c/{name}/live", campaign_parts),
    Route("/c/{name}/report/", report),
    Route("/c/{name}/attempts/{case}/{attempt}", evidence),
    Route("/c/{name}/attempts/{case}/{attempt}/", evidence),
    Route(_RUN, run),
    Route(f"{_RUN}/live", run_parts),
    Route(f"{_RUN}/file/{{stream}}", file),
    Route("/static/{name}", static),
]


def _page(
    template: str, values: Mapping[str, object], *, live: str, revision: int, watch: str
) -> HTMLResponse:
    values = {**values, "live": live, "revision": revision, "watch": watch}
    return HTMLResponse(pages.render(template, values))


def _parts(revision: int, parts: dict[str, str], cells: object = ()) -> Response:
    body = msgspec.json.encode({"revision": revision, "parts": parts, "cells": cells})
    return Response(body, media_type="application/json")


def _require(opened: tuple[CampaignState, Statistics] | None) -> tuple[CampaignState, Statistics]:
    if opened is None:
        raise HTTPException(503, "The plan of this campaign cannot be read.")
    return opened


def _card(watched: FollowedCampaign) -> Card:
    return card(watched.name, visible(watched.shown_folder), watched.campaign_state, watched.fault)


def _cards(hub: Hub) -> list[Card]:
    with hub.lock:
        found = [_card(watched) for watched in hub.campaigns.values()]
    latest_first = sorted(found, key=lambda one: one.started, reverse=True)
    return sorted(latest_first, key=lambda one: _ORDER.index(one.activity))


def _overview(hub: Hub) -> dict[str, object]:
    return {"cards": _cards(hub), "folders": [visible(hub.shown(str(folder))) for folder in hub.folders]}


def _statistics_values(campaign_state: CampaignState, statistics: Statistics) -> dict[str, object]:
    """Return the template values of a campaign's page that come from the statistics."""
    return {
        "statistics": statistics,
        "why": statistics.why,
        "changes": changes(statistics.figures, statistics.variants, campaign_state.plan.margin),
        "scatter": scatter(statistics.dots, statistics.variants, len(campaign_state.planned)),
    }


def _runs(
    request: Request, watched: FollowedCampaign, campaign_state: CampaignState, statistics: Statistics
) -> dict[str, object]:
    query = request.query_params
    state, words = query.get("state", ""), query.get("words", "")
    found = run_list(
        watched.name,
        campaign_state,
        statistics.variants,
        state=state,
        words=words,
        page=whole_number(request, "page", 1),
    )
    return {"runs": found, "state": state, "words": words}


def _compared(hub: Hub, request: Request) -> dict[str, object]:
    columns = []
    for name in dict.fromkeys(request.query_params.getlist("c")):
        watched = hub.campaigns.get(name)
        if watched is None:
            continue
        with hub.opened(watched) as opened:
            campaign_state, statistics = opened or (None, None)
            columns.append(
                CampaignColumn(
                    _card(watched), statistics, campaign_state.plan.margin if campaign_state else 0.0
                )
            )
    return {"columns": columns, "table": table(columns)}
