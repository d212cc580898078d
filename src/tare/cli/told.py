"""What the user tells of output that is there already: ``--set max_bytes=64KiB``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tare.errors import UsageError
from tare.model.case import Case, Layout
from tare.model.values import Scalar
from tare.model.workload import Workload

if TYPE_CHECKING:
    from tare.store.candidates import ReadSetting


def setting_reader(workload: Workload) -> ReadSetting:
    """Return what reads a setting of `workload`: its name and text to a value."""
    from tare.config import setting_from_text

    return lambda name, text: setting_from_text(name, text, workload.parameters)


def read_settings(texts: Sequence[str], read: ReadSetting, option: str) -> dict[str, Scalar]:
    """Return the settings that options such as ``--set nodes=2`` make."""
    settings: dict[str, Scalar] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (sign and name and value):
            raise UsageError(f"{option} {text}: write NAME=VALUE, such as nodes=2")
        if settings.get(name, value) != value and name in settings:
            raise UsageError(f"{option} {text}: {name} is there twice; leave one out")
        try:
            settings[name] = value if name == "workload" else read(name, value)
        except ValueError as error:
            raise UsageError(f"{option} {text}: {error}") from error
    return settings


def expecting(workload: Workload, case: Case) -> Workload:
    """Return the workload as it must judge the output of `case`, of which only some settings are told.

    Where a parameter is told, such as the largest message, the output is held against it, and against the
    defaults of the others. Without one it is judged by itself; so it is where what is expected follows
    from ranks that nobody told.
    """
    told = case.parameters
    defaults = {one.name: one.default for one in workload.parameters if one.default is not None}
    complete = {**defaults, **told}
    if not any(one.name in told for one in workload.parameters):
        return workload
    if any(one.name not in complete for one in workload.parameters):
        return workload
    asked = msgspec.structs.replace(case, parameters=complete)
    sure = workload.expecting(asked)
    other = msgspec.structs.replace(asked, layout=Layout(nodes=2, ranks=2))
    if case.layout == Layout() and sure != workload.expecting(other):
        return workload
    return sure
