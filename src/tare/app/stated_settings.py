"""Read the settings that the user states for existing output, such as ``--set max_bytes=64KiB``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tare.core.case import Case, Layout
from tare.core.errors import UsageError
from tare.core.values import Scalar
from tare.core.workload import Parsed, Workload

if TYPE_CHECKING:
    from tare.storage.candidates import ReadSetting


def setting_reader(workload: Workload) -> ReadSetting:
    """Return a function that converts the name and text of a setting of `workload` to its value."""
    from tare.config import setting_from_text

    return lambda name, text: setting_from_text(name, text, workload.parameters)


def setting_texts(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return the names and value texts of options such as ``--set nodes=2``. Raises UsageError."""
    settings: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name and value):
            raise UsageError(f"{option} {text}: write NAME=VALUE, such as nodes=2")
        if settings.setdefault(name, value) != value:
            raise UsageError(f"{option} {text}: {name} is there twice; leave one out")
    return settings


def read_settings(texts: Sequence[str], read: ReadSetting, option: str) -> dict[str, Scalar]:
    """Return the settings, with their values, of options such as ``--set nodes=2``. Raises UsageError."""
    settings: dict[str, Scalar] = {}
    for name, value in setting_texts(texts, option).items():
        try:
            settings[name] = value if name == "workload" else read(name, value)
        except ValueError as error:
            raise UsageError(f"{option} {name}={value}: {error}") from error
    return settings


def expecting(workload: Workload, case: Case) -> Workload:
    """Return the workload that judges the output of `case`, of which the user stated only some settings.

    If a parameter is stated that matters, such as the largest message, the output is compared with it, and
    with the defaults of the other parameters. Otherwise the output is judged by itself. It is also judged by
    itself if the expectation depends on the number of ranks, and nobody stated that.
    """
    stated = case.parameters
    defaults = {one.name: one.default for one in workload.parameters if one.default is not None}
    complete = {**defaults, **stated}
    if any(one.name not in complete for one in workload.parameters):
        return workload
    asked = msgspec.structs.replace(case, parameters=complete)
    sure = workload.expecting(asked)
    names = [one.name for one in workload.parameters if one.name in stated]
    if all(sure == workload.expecting(_otherwise(asked, name)) for name in names):
        return workload  # its expectation depends on Tare's own command, not on the stated settings
    other = msgspec.structs.replace(asked, layout=Layout(nodes=2, ranks=2))
    if "ranks" in case.unknown and sure != workload.expecting(other):
        return workload
    return sure


def _otherwise(case: Case, name: str) -> Case:
    """Return `case` with another value of the parameter `name`."""
    value = case.parameters[name]
    other: Scalar = f"{value} other" if isinstance(value, str) else not value
    if not isinstance(value, (str, bool)):
        other = 2 * value + 1
    return msgspec.structs.replace(case, parameters={**case.parameters, name: other})


def check_stated(workload: Workload, case: Case, parsed: Parsed) -> Parsed:
    """Return `parsed` with a problem for each printed setting that contradicts a stated one."""
    from tare.execution.printed_settings import with_contradictions

    stated = case.settings
    nodes, per_node = stated.get("nodes"), stated.get("ranks_per_node")
    if isinstance(nodes, int) and isinstance(per_node, int):
        stated.setdefault("ranks", nodes * per_node)
    return parsed if parsed.problems else with_contradictions(workload, parsed, stated, "stated")
