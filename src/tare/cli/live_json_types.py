"""The types of the JSON of the live page (`tare.live.api`), as `json_types` has those of commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_type_hints

from tare.analysis.verdicts.headline import Headline
from tare.cli.json_types import Keys, optional, records
from tare.core.attempt import Attempt, Proof, State
from tare.core.attribution import Attribution
from tare.core.comparison import Comparison
from tare.core.values import Settings

_UNDER_WAY = {"case": str, "block": int, "attempt": int, "folder": str}
_OF_PLAN: Keys = {
    "study": str,
    "site": str,
    "state": str,
    "is_running": bool,
    "counts": dict[str, int],
    "runs": int,
    "eta_s": float | None,
    "eta_is_least": bool,
    "under_way": records("AttemptUnderWay", _UNDER_WAY),
}
_SUMMARY: Keys = {
    "name": str,
    "folder": str,
    "revision": int,
    "fault": str,
    **{key: optional(kind) for key, kind in _OF_PLAN.items()},  # its plan may not be readable
}
_HEADLINE: Keys = {  # by the names of attributes: this contract is older than the names in other JSON
    **{name: get_type_hints(Headline)[name] for name in Headline.__struct_fields__ if name != "rows"},
    "workloads": list[str],
}
_STATISTICS: Keys = {
    "question": str,
    "sentences": list[str],
    "headlines": records("HeadlineRow", _HEADLINE),
    "overview": list[Comparison],
    "figures": list[Comparison],
    "why": records("SaidDifference", {"sentence": str, "attribution": Attribution}),
    "cases": dict[str, Settings],
    "matrix": dict[str, dict[str, State]],
}
_RUN: Keys = {
    "case": str,
    "block": int,
    "attempt": int,
    "state": State,
    "reason": str,
    "check": str,
    "started_at": float | None,
    "elapsed_s": float,
    "transport": str,
    "proof": Proof | None,
    "chosen": str,
    "folder": str,
}
_CHUNK: Keys = {"start": int, "end": int, "size": int, "text": str, "is_live": bool}

SERVED: Mapping[str, Keys] = {
    "tare.serve.campaign/1": {
        **_SUMMARY,
        **{key: optional(kind) for key, kind in _STATISTICS.items()},
    },
    "tare.serve.campaigns/1": {"campaigns": records("CampaignSummary", _SUMMARY)},
    "tare.serve.log/1": _CHUNK,
    "tare.serve.run/1": {"attempt": Attempt},
    "tare.serve.runs/1": {"n_runs": int, "from": int, "runs": records("ServedRun", _RUN)},
}
"""The keys of each contract of the live page, beside `schema` itself."""
