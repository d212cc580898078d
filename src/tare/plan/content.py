"""The content of a case, of which the case's id is a hash: cases with equal content are one case. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from tare.core.case import Case
from tare.core.study import DESIGN_SETTINGS, setting_order
from tare.core.values import Scalar, Settings
from tare.core.workload import Parameter

_encode = msgspec.json.Encoder(order="deterministic").encode


class Outline:
    """A case without its parameters: cases that differ in nothing else are made from it.

    `digest` and `parameters` are those of its workload. Parameters that came late count for an id only where
    they have another value than their default (see Parameter).
    """

    def __init__(self, case: Case, digest: str | None, parameters: Iterable[Parameter] = ()) -> None:
        self.case = case
        self._late = {one.name: one.default for one in parameters if one.is_late}
        layout = case.layout
        before = (
            case.workload,
            digest,
            case.platform,
            case.network,
            case.storage,
            case.io,
            layout if layout.bind else msgspec.structs.replace(layout, bind=layout.binding),
        )
        after: tuple[object, ...] = ()
        if case.twin is not None:  # a case without a twin keeps the id that it has in older campaigns
            after += (case.twin,)
        if case.profile_of is not None:
            after += (("profile of", case.profile_of),)
        if case.software:  # as the study writes it: what a site or a platform loads does not count
            after += (("software", case.software),)
        if case.unknown:
            after += (case.unknown,)
        self._before = _encode(before)[:-1] + b","  # an id is a hash of one JSON list
        self._after = b"," + _encode(after)[1:] if after else b"]"

    def with_parameters(self, parameters: Settings) -> Case:
        """Return the case with `parameters`, and with the id that follows from its content."""
        late = self._late
        counted = (
            {name: value for name, value in parameters.items() if name not in late or value != late[name]}
            if late
            else parameters
        )
        content = self._before + _encode(counted) + self._after
        case_id = hashlib.blake2b(content, digest_size=8).hexdigest()
        return msgspec.structs.replace(self.case, id=case_id, parameters=parameters)


def identified(case: Case, digest: str | None, parameters: Iterable[Parameter] = ()) -> Case:
    """Return `case` with the id that follows from its content (see Outline)."""
    return Outline(case, digest, parameters).with_parameters(case.parameters)


def varied_settings(cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the settings that vary between `cases`; a parameter is compared within its workload only."""
    alike: dict[str, list[Case]] = {}
    for case in cases:
        alike.setdefault(case.workload, []).append(case)
    columns = [_columns(own) for own in alike.values()]
    names = {name for own in columns for name in own}
    varied = [name for name in names if _varies(name, [own.get(name, {None}) for own in columns])]
    return tuple(sorted(varied, key=setting_order))


def _columns(cases: Iterable[Case]) -> dict[str, set[Scalar | None]]:
    """Return the values of each setting in `cases`, which have one workload; None where a case lacks it."""
    rows = [one.settings for one in {one.form: one for one in cases}.values()]
    own = {name for one in cases for name in one.parameters}
    others = {name for row in rows for name in row} - own
    found = {name: {row.get(name) for row in rows} for name in others}
    for name in own:
        found[name] = {one.parameters[name] if name in one.parameters else one.setting(name) for one in cases}
    return found


def _varies(name: str, by_workload: list[set[Scalar | None]]) -> bool:
    """Return whether a setting has several of its values, which are given for each workload."""
    if name in DESIGN_SETTINGS:
        return len(set().union(*by_workload)) > 1
    return any(len(values) > 1 for values in by_workload)
