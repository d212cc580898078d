"""The charts of a report as charts of Altair, with the data inside."""

from __future__ import annotations

import json
import re
import warnings
from typing import TYPE_CHECKING

from tare.app.timelines import timelines
from tare.core.campaign import Campaign
from tare.core.errors import UsageError
from tare.report.charts.requested import Selection, read_request
from tare.report.content import figures
from tare.report.report_statistics import ReportStatistics

if TYPE_CHECKING:
    import altair

_HTML = re.compile(r"<(?=/|!--|script)", re.IGNORECASE)


def charts(
    campaign: Campaign, foms: tuple[str, ...], extra: tuple[str, ...]
) -> dict[str, altair.ConcatChart]:
    """Return the charts of the report on `campaign` by name; `extra` are further ones.

    A chart that fails is left out with a warning. Raises UsageError if Altair is missing, or if a chart of
    `extra` cannot be made.
    """
    try:
        import altair
    except ImportError as error:
        raise UsageError("charts need Altair: python -m pip install 'tare-hpc[charts]'") from error
    selection = Selection(foms, None, tuple(read_request(one, campaign, "extra") for one in extra))
    drawn = figures(
        campaign,
        ReportStatistics.of(campaign, None, foms),
        read_timeline=timelines(campaign),
        selection=selection,
    )
    if extra and drawn.faults:
        raise UsageError(" ".join(drawn.faults))
    for fault in drawn.faults:
        warnings.warn(fault, stacklevel=3)
    return {
        one.name: altair.ConcatChart.from_dict(
            _for_scripts(json.loads(one.joint) | {"title": one.title}), validate=False
        )
        for one in drawn.figures
    }


def _for_scripts(spec: object) -> dict[str, object]:
    """Return a chart of which no text can end the script of a page, or change how it is read.

    Altair writes charts as JSON into scripts of HTML, for pages and notebooks, and escapes nothing. An
    invisible character parts what HTML looks for there (its *script data state*): names look the same.
    """
    safe: dict[str, object] = json.loads(_HTML.sub("<\u2060", json.dumps(spec)))
    return safe
