"""The content of a case, of which the case's id is a hash: cases with equal content are one case. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from tare.core.case import Case
from tare.core.study import DESIGN_SETTINGS
from tare.core.values import Scalar
from tare.core.workload import Parameter

_encode = msgspec.json.Encoder(order="deterministic").encode


def identified(case: Case, digest: str | None, parameters: Iterable[Parameter] = ()) -> Case:
    """Return `case` with the id that follows from its content.

    `digest` and `parameters` are those of its workload. Parameters that came late count only where they have
    another value than their default (see Parameter).
    """
    late = {one.name: one.default for one in parameters if one.is_late}
    content: tuple[object, ...] = (
        case.workload,
        digest,
        case.platform,
        case.network,
        case.storage,
        case.io,
        case.layout if case.layout.bind else msgspec.structs.replace(case.layout, bind=case.layout.binding),
        {name: value for name, value in case.parameters.items() if name not in late or value != late[name]}
        if late
        else case.parameters,
    )
    if case.twin is not None:  # a case without a twin keeps the id that it has in older campaigns
        content += (case.twin,)
    if case.profile_of is not None:
        content += (("profile of", case.profile_of),)
    if case.software:  # as the study writes it: what a site or a platform loads does not count
        content += (("software", case.software),)
    if case.unknown:
        content += (case.unknown,)
    return msgspec.structs.replace(case, id=hashlib.blake2b(_encode(content), digest_size=8).hexdigest())


def varied_settings(cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the settings that vary between `cases`; a parameter is compared within its workload only."""
    rows: dict[str, list[dict[str, Scalar]]] = {}
    for case in cases:
        rows.setdefault(case.workload, []).append(case.settings)
    alone = [row for alike in rows.values() for row in alike]
    names = dict.fromkeys(name for row in alone for name in row)
    varied = {
        name
        for name in names
        for alike in ([alone] if name in DESIGN_SETTINGS else rows.values())
        if len({row.get(name) for row in alike}) > 1
    }
    return tuple(sorted(varied, key=setting_order))


def setting_order(setting: str) -> tuple[int, str]:
    """Return the sort key of a setting: design settings first, in their order, then parameters by name."""
    if setting in DESIGN_SETTINGS:
        return DESIGN_SETTINGS.index(setting), ""
    return len(DESIGN_SETTINGS), setting
