"""Campaigns as metrics in the text format of OpenMetrics 1.0, for Prometheus to scrape.

The metrics give the progress and the latest figures of each case. Results stay in the journal: a missed
scrape loses a point in a dashboard, never a result.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tare.core.attempt import Attempt, Series, State
from tare.core.case import Case
from tare.core.telemetry import PREFIX
from tare.core.values import with_coordinates
from tare.core.visible_text import visible
from tare.live.campaign_state import CampaignState
from tare.live.lookup import hub_of

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_MOST_POINTS = 64  # the most points of one figure: a dashboard cannot show thousands of message sizes
_TAKEN = frozenset({"campaign", "case", "state", "block", "fom", "unit", "le", "quantile"})
"""Labels that Tare uses or that have a meaning in Prometheus; settings of a study get other labels."""

_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_]")

Labels = Mapping[str, object]


class MetricFamily:
    """One metric: its name, type and help, and a value for each set of labels."""

    def __init__(self, name: str, kind: str, summary: str) -> None:
        self.name = name
        self.kind = kind
        self.summary = summary
        self.samples: list[tuple[Labels, float]] = []

    def add(self, value: float, labels: Labels) -> None:
        """Add the value for a set of labels."""
        self.samples.append((labels, value))


def metrics(request: Request) -> Response:
    """Return the metrics of every campaign."""
    hub = hub_of(request)
    with hub.lock:
        campaign_states = {
            name: one.campaign_state for name, one in hub.campaigns.items() if one.campaign_state is not None
        }
        text = render(families(campaign_states))
    return Response(text, headers={"content-type": CONTENT_TYPE})


ROUTES = [Route("/metrics", metrics)]


def families(campaign_states: Mapping[str, CampaignState]) -> tuple[MetricFamily, ...]:
    """Return the metrics of campaigns; `campaign_states` maps the campaigns' names to their states."""
    return (*_progress(campaign_states), *_figures(campaign_states))


def _progress(campaign_states: Mapping[str, CampaignState]) -> tuple[MetricFamily, ...]:
    runs = MetricFamily("tare_runs", "gauge", "Planned runs by state.")
    attempts = MetricFamily("tare_attempts", "counter", "Attempts that have ended, by state.")
    running = MetricFamily("tare_campaign_running", "gauge", "Whether a live process holds the campaign.")
    left = MetricFamily(
        "tare_campaign_left_seconds", "gauge", "Time until the campaign ends, as far as known."
    )
    least = MetricFamily(
        "tare_campaign_left_is_least",
        "gauge",
        "1 where precision may ask for more runs than that time holds.",
    )
    under_way = MetricFamily("tare_run_under_way", "gauge", "1 for each run that is under way.")
    for name, campaign_state in campaign_states.items():
        progress = campaign_state.progress()
        ended = Counter(campaign_state.state_of(one) for one in campaign_state.attempts.values())
        for state in State:
            runs.add(progress.counts.get(state, 0), {"campaign": name, "state": state})
            if state not in {State.PENDING, State.RUNNING}:
                attempts.add(ended[state], {"campaign": name, "state": state})
        running.add(campaign_state.is_running, {"campaign": name})
        if progress.eta_s is not None:
            left.add(progress.eta_s, {"campaign": name})
            least.add(progress.is_least, {"campaign": name})
        for one in progress.under_way:
            under_way.add(1, {"campaign": name, **_case_labels(campaign_state, one.case), "block": one.block})
    return runs, attempts, running, left, least, under_way


def _figures(campaign_states: Mapping[str, CampaignState]) -> tuple[MetricFamily, ...]:
    figure = MetricFamily("tare_figure", "gauge", "The latest value of a figure of merit, by case.")
    telemetry = MetricFamily("tare_telemetry", "gauge", "What nodes did in the latest run of a case.")
    for name, campaign_state in campaign_states.items():
        for case, attempt in _latest(campaign_state).items():
            own = {"campaign": name, **_case_labels(campaign_state, case)}
            for series in (*attempt.series, *attempt.telemetry_series):
                family = telemetry if series.fom.startswith(PREFIX) else figure
                for labels, value in _points(series):
                    family.add(value, with_coordinates(own, labels))
    return figure, telemetry


def render(found: Iterable[MetricFamily]) -> str:
    """Return the text of an exposition (OpenMetrics 1.0, 4.1 Text Format)."""
    lines: list[str] = []
    for family in found:
        lines.append(f"# TYPE {family.name} {family.kind}")
        if family.name.endswith("_seconds"):
            lines.append(f"# UNIT {family.name} seconds")
        lines.append(f"# HELP {family.name} {_escaped(family.summary)}")
        suffix = "_total" if family.kind == "counter" else ""
        for labels, value in family.samples:
            text = ",".join(f'{name}="{_escaped(one)}"' for name, one in _named(labels).items())
            lines.append(f"{family.name}{suffix}{{{text}}} {float(value)!r}")
    return "\n".join([*lines, "# EOF", ""])


def _named(labels: Labels) -> Labels:
    """Return `labels` with valid names, each once; ``_`` is appended to a name that another label has.

    Prometheus refuses all metrics of a page on which one label occurs twice.
    """
    found: dict[str, object] = {}
    for name, value in labels.items():
        valid = label_name(name)
        while valid in found:
            valid += "_"
        found[valid] = value
    return found


def label_name(name: str) -> str:
    """Return `name` as a valid label: letters, digits and ``_``, with no digit or ``__`` at the start."""
    text = _NOT_A_NAME.sub("_", name).lstrip("_") or "x"
    return f"_{text}" if text[0].isdigit() else text


def _escaped(value: object) -> str:
    return visible(str(value)).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _case_labels(campaign_state: CampaignState, case: str) -> dict[str, object]:
    """Return the labels of a case: its id, its workload, and the settings that the study varies.

    If a label's name is already used, ``_`` is appended to it.
    """
    found = campaign_state.cases.get(case)
    labels: dict[str, object] = {}
    for name, value in _settings(found, campaign_state.plan.varied).items() if found else ():
        label = label_name(name)
        while label in _TAKEN or label in labels:
            label += "_"
        labels[label] = value
    return {"case": case, **labels}


def _settings(case: Case, varied: Iterable[str]) -> dict[str, object]:
    settings = case.settings
    return {name: settings[name] for name in dict.fromkeys(("workload", *varied)) if name in settings}


def _latest(campaign_state: CampaignState) -> dict[str, Attempt]:
    """Return the last measured attempt of each case."""
    found: dict[str, Attempt] = {}
    for one in campaign_state.latest.values():
        if one.state is State.DONE and one.block >= 1:
            known = found.get(one.case)
            if known is None or (known.started_at or 0) <= (one.started_at or 0):
                found[one.case] = one
    return found


def _points(series: Series) -> Iterator[tuple[Labels, float]]:
    for one in itertools.islice(series.measurements(), _MOST_POINTS):
        at = {f"at_{name}": value for name, value in one.at.items()}
        yield {"fom": one.fom.removeprefix(PREFIX), "unit": one.unit, **at}, one.value
