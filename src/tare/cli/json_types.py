"""The types of what commands print as JSON, from which `tare schema NAME` makes JSON Schemas.

Commands print the values of `tare.core`, `tare.analysis` and others as they are, or with some fields left out
and others added (`json_fields`); so does this file, with their types. Tests validate what commands really
print: no key may be missing, and none may come without being declared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict, get_type_hints

import msgspec

from tare.analysis.accounting import UncountedRuns
from tare.analysis.checking.check import Check, CheckedComparison, Outcome, Undecided
from tare.analysis.checking.rules import Kind
from tare.analysis.confounding import Difference
from tare.analysis.pairs import Unpaired
from tare.analysis.proofs import Uncrossed
from tare.analysis.repeats.cost import Cost
from tare.analysis.spans import Spans
from tare.analysis.trust.calibration import Calibrated, Calibration
from tare.analysis.trust.precision import Imprecision
from tare.analysis.trust.quality import QualityWarning
from tare.analysis.trust.session_changes import SessionChange
from tare.analysis.verdicts.variability import Variability
from tare.app.planned_tasks import FoundTrap
from tare.app.remaining import Remaining
from tare.cli.commands.parse import Completeness
from tare.core.attempt import State
from tare.core.attribution import Attribution
from tare.core.checks import Finding
from tare.core.comparison import Comparison
from tare.core.curves import Crossover, HockneyFit, Saturation
from tare.core.plan import LeftOut
from tare.core.prediction import Prediction, Tolerance
from tare.core.scaling import ScalingCurve
from tare.core.site import LabSpec
from tare.core.values import Scalar, Settings
from tare.core.workload import Better, Fom, Parameter
from tare.discovery.facts import Found
from tare.lab.requirements import Requirement
from tare.published.claims import Claim, ClaimFinding
from tare.published.tables import Figure, FigureKind
from tare.storage.import_summary import Origin
from tare.storage.log import Entry

Keys = Mapping[str, Any]
"""The keys of an object, each with its type."""

_SCALAR = {"type": ["string", "number", "boolean"]}


def record(name: str, keys: Keys, more: Mapping[str, Any] | None = None) -> Any:
    """Return the type of an object with `keys`; `more` is the JSON Schema of other keys, if it has any."""
    typed = TypedDict(name, {**keys})  # type: ignore[misc]  # the keys are known at run time
    if more is None:
        return typed
    return Annotated[typed, msgspec.Meta(extra_json_schema={"additionalProperties": more})]


def records(name: str, keys: Keys, more: Mapping[str, Any] | None = None) -> Any:
    """Return the type of a list of such objects."""
    return _list_of(record(name, keys, more))


def _list_of(one: Any) -> Any:
    return list[one]


def optional(one: Any) -> Any:
    """Return the type of a key that may be missing."""
    return NotRequired[one]


def fields_of(struct: type[msgspec.Struct], *left_out: str, **more: Any) -> Keys:
    """Return the keys that `json_fields` prints of a value of type `struct`."""
    hints = get_type_hints(struct, include_extras=True)
    names = zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    return {shown: hints[name] for name, shown in names if shown not in left_out} | more


_FINDINGS = list[Finding]
_COMPARISON = record(
    "ComparisonRow",
    fields_of(
        Comparison,
        *("reference_case", "contender_case", "is_primary", "is_answer", "labels"),
        change=float | None,
        may_miss=float | None,
        withheld_by=str | None,
    ),
)
_DOUBT = record(
    "Doubt",
    fields_of(
        QualityWarning,
        "passes",
        at=Settings | None,
        is_serious=bool,
        may_wander=bool,
        finding=str,
    ),
)
_CONFOUNDER = {
    "fact": str,
    "reference": list[str],
    "contender": list[str],
    "varied": Settings,
    "cases": list[str],
}
_CAVEATS = {
    "doubts": _list_of(_DOUBT),
    "imprecision": Imprecision | None,
    "session_changes": list[SessionChange],
    "variability": records("VariabilityRow", fields_of(Variability, "reference_case", "contender_case")),
    "uncounted": list[UncountedRuns],
    "confounders": records("Confounder", _CONFOUNDER),
    "networks": list[Uncrossed],
    "without_reference": records("CaseWithoutReference", fields_of(Unpaired, case=str, nearest=str)),
}
_CHECKED = record(
    "CheckedRow",
    fields_of(
        CheckedComparison,
        *("match", "text", "has_verdict"),
        call=str,
        case=str,
        fom=str,
        at=Settings,
        reference=Settings,
        change=float | None,
        change_low=float | None,
        change_high=float | None,
    ),
)
_RULE = {"name": str, "kind": Kind, "rule": str, "outcome": Outcome, "comparisons": _list_of(_CHECKED)}
_CHECK = fields_of(
    Check,
    *("verdicts", "completeness", "requires_complete"),
    undecided_counts_as=Undecided,
    is_failed=bool,
    is_complete=bool,
    n_planned=int,
    counts=dict[str, int],
    rules=records("CheckedRule", _RULE),
    doubts=_list_of(_DOUBT),
)
_SESSION = {
    "number": int,
    "began_at": float,
    "blocks": int | None,
    "n_resumed": int,
    "is_retrying": bool,
    "n_done": int,
}
_RUN = {
    "case": str,
    "block": int,
    "state": State,
    "reason": str,
    "check": str,
    "left_out": list[str],
    "attempts": int,
    "session": int | None,
    "folder": str | None,
    **dict.fromkeys(("elapsed_s", "queued_s", "starting_s", "ending_s"), float | None),
    "transport": str,
    "proof": str | None,
    "chosen": str,
    "workload": str,
}
_UNSETTLED = {"case": str, "reference": str | None, "n_blocks": int, "half_width": float | None}
_STATUS = {
    "study": str,
    "site": str,
    "is_running": bool,
    "counts": dict[str, int],
    "budget_spent": bool,
    "time": Spans,
    "sessions": records("Session", _SESSION),
    "unsettled": records("Unsettled", _UNSETTLED),
    "runs": records("Run", _RUN, _SCALAR),
}
_PLAN = {
    "study": str,
    "cases": records("Case", {"id": str, "workload": str}, _SCALAR),
    "runs": int,
    "cost": Cost,
    "notes": list[str],
    "left_out": list[LeftOut],
    "traps": list[FoundTrap],
    "missing_inputs": list[str],
    "rest": Remaining | None,
}
_IMPORTED = {
    "file": str,
    "sha256": str,
    "case": str,
    "block": int,
    "state": State,
    "reason": str,
    "folder": str,
    "settings": Settings,
}
_SOURCE = {"setting": str, "source": Origin, "values": list[Scalar], "files": int}
_IMPORT = {
    "campaign": str,
    "is_dry_run": bool,
    "already_there": int,
    "settings": records("SettingSource", _SOURCE),
    "runs": records("ImportedRun", _IMPORTED),
    "refused": records("RefusedFile", {"file": str, "why": str}),
    "remarks": list[str],
}
_REPARSED = {
    "case": str,
    **dict.fromkeys(("block", "attempt"), int),
    **dict.fromkeys(("before", "state"), State),
    "reason": str,
    "folder": str,
}
_MEASUREMENT = {"file": str, "fom": str, "value": float, "unit": str, "at": Settings}
_PARSED = {"complete": bool, "completeness": Completeness, "problems": list[str], "left_out": list[str]}
_PREDICTIONS = records("PredictionRecord", {"sentence": str, "prediction": Prediction})
_TOLERANCES = records("ToleranceRecord", {"sentence": str, "tolerance": Tolerance})
_DIFFERENCE = {
    "sentence": str,
    "scatter_sentence": str,
    "mean_and_scatter_sentence": str,
    "attribution": Attribution,
}
_PUBLISHED = {**fields_of(Figure, "kind", "started"), **fields_of(FigureKind, "factors")}
_PUBLICATION = {
    "name": str,
    "what": str,
    "source": str,
    "series": list[str],
    "reference": Settings,
    "n_figures": int,
    "figures": optional(records("PublishedFigure", _PUBLISHED)),
}
_CLAIM = {
    **fields_of(Claim, "fom", "held", "cause", "over", "note", margin=float | None),
    **fields_of(ClaimFinding, "claim"),
}
_WORKLOAD = {
    "name": str,
    "family": str,
    "summary": str,
    "description": str,
    "output": str,
    "needs_transport": bool,
    "parameters": list[Parameter],
    "foms": list[Fom],
    "example": list[str],
}
_INTERFACE: Any = record("LabInterface", {"address": str, "network": str | None, "storage": str | None})
_HOST = {"name": str, "is_pod": bool, "is_server": bool, "pid": int, "interfaces": Mapping[str, _INTERFACE]}
_LAB = {
    "holder_pid": int,
    "started_at": float,
    "folder": str,
    "environment": dict[str, str],
    "spec": LabSpec,
    "members": list[str],
    "hosts": records("LabHost", _HOST),
}
_ENDED = records("Leftover", {"verb": str, "what": str})
_ROW = {
    "schema_version": int,
    "campaign": str,
    "case": str,
    "block": int,
    "attempt": int,
    "session": int,
    "state": State,
    "started_at": str | None,
    "workload": str,
    "fom": str,
    "unit": str,
    "better": Better | None,
    "value": float | None,
}
_VERIFY = {
    "faults": records("Discrepancy", {"where": str, "what": str}),
    **dict.fromkeys(("n_lines", "n_unsummed", "n_runs", "n_unlisted", "n_files"), int),
    "sealed_by": str,
}

OUTPUTS: Mapping[str, Keys] = {
    "tare.calibrate/1": {
        "campaign": str,
        "site": str,
        **fields_of(Calibration, "rows", figures=list[Calibrated]),
    },
    "tare.check/1": _CHECK,
    "tare.claims/1": {"claims": records("ClaimRow", _CLAIM)},
    "tare.clean/1": {
        "is_dry": bool,
        "ended": _ENDED,
        "failed": _ENDED,
        "left": records("LeftAlone", {"what": str, "why": str}),
    },
    "tare.compare/1": {
        "comparisons": _list_of(_COMPARISON),
        "against": NotRequired[str],
        **{key: optional(kind) for key, kind in {"figures": _list_of(_COMPARISON), **_CAVEATS}.items()},
    },
    "tare.curves/1": {
        "hockney": list[HockneyFit],
        "crossovers": list[Crossover],
        "saturations": list[Saturation],
    },
    "tare.doctor/1": {"requirements": list[Requirement], "problems": list[str]},
    "tare.doctor.site/1": {"site": str, "findings": _FINDINGS},
    "tare.doctor.study/1": {"study": str, "findings": _FINDINGS},
    "tare.environment/1": {"where": str, "hosts": list[str], "facts": dict[str, list[str]]},
    "tare.environment.diff/1": {"a": str, "b": str, "n_same": int, "differences": list[Difference]},
    "tare.export/1": {"rows": records("Measurement", _ROW, {"type": [*_SCALAR["type"], "null"]})},
    "tare.import/1": _IMPORT,
    "tare.init/1": {"found": Found, "files": list[str], "findings": _FINDINGS},
    "tare.lab.rootfs/1": {"path": str, "size_bytes": int, "elapsed_s": float},
    "tare.lab.status/1": {
        "name": str,
        "is_up": bool,
        **{key: optional(kind) for key, kind in _LAB.items()},
    },
    "tare.log/1": {"entries": list[Entry], "n_damaged": int},
    "tare.metrics/1": {"url": str, "folders": list[str]},
    "tare.parse/1": {
        "measurements": records("ParsedFigure", _MEASUREMENT),
        **_PARSED,
        "files": records("ParsedFile", {"file": str, **_PARSED}),
    },
    "tare.plan/1": _PLAN,
    "tare.predict/1": {"predictions": _PREDICTIONS},
    "tare.published/1": {"publications": records("PublicationRow", _PUBLICATION)},
    "tare.reparse/1": {"campaign": str, "out": str, "runs": records("ReparsedRun", _REPARSED)},
    "tare.report/1": {
        "page": str | None,
        "charts": list[str],
        "why": list[str],
        "files": dict[str, str],
    },
    "tare.scaling/1": {"curves": list[ScalingCurve]},
    "tare.seal/1": {"folder": str, "sealed_by": str},
    "tare.serve/1": {"url": str, "folders": list[str]},
    "tare.status/1": _STATUS,
    "tare.telemetry.import/1": {"source": str, "n_readings": int, "n_runs": int, "n_points": int},
    "tare.telemetry.show/1": {"runs": records("RunFigures", {"attempt": str}, {"type": "number"})},
    "tare.tolerance/1": {"tolerances": _TOLERANCES},
    "tare.verify/1": _VERIFY,
    "tare.why/1": {
        "differences": records("DifferenceRecord", _DIFFERENCE),
        "predictions": _PREDICTIONS,
        "tolerances": _TOLERANCES,
    },
    "tare.workloads/1": {"workloads": records("WorkloadRow", _WORKLOAD)},
}
"""The keys of each contract, beside `schema` itself."""
