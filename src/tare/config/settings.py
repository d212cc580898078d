"""The meaning of setting names in one study, and how their values are checked and converted."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal

from tare.config.document import Node, ScalarNode, child, resolve
from tare.config.faults import Faults, Path, nearest, shown
from tare.config.software import software_text
from tare.core.case import Binding
from tare.core.errors import UsageError, nearest_name
from tare.core.program import PROGRAM_SETTINGS, all_parameters, checked_setting
from tare.core.site import Site
from tare.core.software import SOFTWARE_SETTINGS
from tare.core.study import DESIGN_SETTINGS
from tare.core.units import Dimension, parse_bytes, parse_quantity
from tare.core.values import Scalar
from tare.core.workload import Parameter, ParameterKind, Workload

COUNTS: Mapping[str, str] = {
    "nodes": "node count",
    "ranks": "rank count",
    "ranks_per_node": "count of ranks per node",
    "threads": "thread count",
}
_TAKES: Mapping[ParameterKind, str] = {
    ParameterKind.WHOLE: "a whole number such as 20 or 20M",
    ParameterKind.NUMBER: "a number such as 2.5",
    ParameterKind.BYTES: "a size such as 64KiB",
    ParameterKind.SECONDS: "a time such as 120 s",
    ParameterKind.FRACTION: "a share such as 80 %",
}
_DIMENSIONS: Mapping[ParameterKind, Dimension] = {
    ParameterKind.SECONDS: Dimension.SECONDS,
    ParameterKind.FRACTION: Dimension.FRACTION,
}
_MULTIPLES: Mapping[str, int] = {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
_MOST_EXACT = 2**53
"""Above it, not every whole number is a float."""

_MOST_WHOLE = 2**63 - 1
"""The largest whole number that journals and tables hold."""


class Vocabulary:
    """The names that a study may use.

    `used` are the study's workloads, `workloads` all that exist. `faulty` workloads are declared by the study
    with such faults that they cannot be used; `loose` are their parameters, of which only the names are
    known. So are those of the workload that a misspelt name probably means; if it may mean any, no name is
    called unknown. `site` is None where the site file is faulty; its names are then not checked.
    """

    def __init__(
        self,
        site: Site | None,
        workloads: Mapping[str, Workload],
        used: Iterable[str],
        faulty: Collection[str] = (),
        loose: Collection[str] = (),
    ) -> None:
        self.site = site
        self.faulty = faulty
        self.workloads = workloads
        found = {name: self.workload(name) for name in dict.fromkeys(used)}
        self.used = tuple(one for one in found.values() if one is not None)
        missing = [name for name, one in found.items() if one is None and name not in faulty]
        meant = [self.workload(nearest_name(name, workloads) or "") for name in missing]
        self._may_be_any = None in meant
        guessed = (one.name for workload in meant if workload for one in workload.parameters)
        self.loose = frozenset((*loose, *guessed))
        self.parameters: dict[str, list[Parameter]] = {}
        for workload in self.used:
            for parameter in all_parameters(workload):
                self.parameters.setdefault(parameter.name, []).append(parameter)

    def workload(self, name: str) -> Workload | None:
        """Return a workload by its name, or None; `read` reports why."""
        try:
            return self.workloads[name]
        except (KeyError, UsageError):
            return None

    def sole_workload(self, settings: Node) -> Workload | None:
        """Return the workload that a mapping of settings names, if it names exactly one."""
        named = child(settings, "workload")
        return self.workload(named.text) if isinstance(named, ScalarNode) else None

    @property
    def settings(self) -> tuple[str, ...]:
        """Return every name that a level may set."""
        return (*DESIGN_SETTINGS, *SOFTWARE_SETTINGS, *self.parameters)

    def is_software(self, name: str, workload: Workload | None = None) -> bool:
        """Return whether `name` is a setting that loads software, and not a parameter of that name."""
        own = {one.name for one in workload.parameters} if workload is not None else self.parameters
        return name in SOFTWARE_SETTINGS and name not in own and name not in self.loose

    def read(
        self, name: str, node: Node, path: Path, faults: Faults, workload: Workload | None = None
    ) -> Scalar | None:
        """Return the value of setting `name`, checked and in the unit in which it is stored.

        A parameter is that of `workload`, or of any workload of the study. The result is None where a fault
        is recorded.
        """
        if self.is_software(name, workload):
            return self._software(name, node, path, faults)
        if not isinstance(node, ScalarNode) or node.value is None:
            return None  # the decoder has reported that a value is missing
        if name == "workload" and node.text in self.faulty:
            return None
        if not self._is_sure(name, workload):
            return None
        try:
            return self._value(name, node, workload)
        except (ValueError, UsageError) as error:  # UsageError: its plug-in is broken
            faults.add(node, path, str(error))
            return None

    def is_known(self, name: str, workload: Workload | None = None) -> bool:
        """Return whether `name` can be set, for `workload` or for any of the study."""
        return self._is_sure(name, workload) or (
            workload is None and (name in self.loose or self._may_be_any)
        )

    def _is_sure(self, name: str, workload: Workload | None) -> bool:
        """Return whether `name` is known as a setting whose values can be checked."""
        if workload is not None:
            own = (*(one.name for one in all_parameters(workload)), *SOFTWARE_SETTINGS)
        else:
            own = (*self.parameters, *SOFTWARE_SETTINGS, *PROGRAM_SETTINGS)
        return name in DESIGN_SETTINGS or name in own

    def unknown(self, name: str, workload: Workload | None = None) -> str:
        """Return the message, with the cure, for a `name` that cannot be set."""
        if workload is None:
            return (
                f"{shown(name)} is neither a setting nor a parameter of this study's workloads; "
                + nearest(name, self.settings)
            )
        names = [*(one.name for one in all_parameters(workload)), *DESIGN_SETTINGS, *SOFTWARE_SETTINGS]
        return f"{workload.name} has no parameter {shown(name)}; {nearest(name, names)}"

    @staticmethod
    def _software(name: str, node: Node, path: Path, faults: Faults) -> str | None:
        try:
            return software_text(name, node)
        except ValueError as error:
            faults.add(node, path, str(error))
            return None

    def _value(self, name: str, node: ScalarNode, workload: Workload | None) -> Scalar:
        if name in COUNTS:
            return _count(name, node)
        if name == "workload":
            return _one_of(node, "workload", self.workloads, "there is no workload")
        if name == "io":
            return node.text
        if name == "bind":
            return _one_of(node, "binding", [one.value for one in Binding], "there is no binding")
        if name in ("platform", "network", "storage"):
            return self._offered(name, node)
        if workload is not None:
            own = next(one for one in all_parameters(workload) if one.name == name)
            return _checked(own, node)
        return self._shared(name, node)

    def _offered(self, name: str, node: ScalarNode) -> str:
        if self.site is None:
            return node.text
        site = self.site
        kind = "storage path" if name == "storage" else name
        return _one_of(node, kind, site_names(site, name), f"site {site.name} has no {kind}")

    def _shared(self, name: str, node: ScalarNode) -> Scalar:
        # If all workloads of a study are faulty, it has no parameters; programs have their settings always.
        parameters = self.parameters.get(name) or [PROGRAM_SETTINGS[name]]
        values = {repr(value): value for value in (_checked(one, node) for one in parameters)}
        if len(values) > 1:
            raise ValueError(
                f"{node.text} means different things to the workloads that have {shown(name)}; "
                "set it under each workload"
            )
        return next(iter(values.values()))


def site_names(site: Site, name: str) -> tuple[str, ...]:
    """Return the names that `site` offers for setting `name`: platform, network or storage."""
    if name == "platform":
        return tuple(site.platforms)
    return tuple(site.networks if name == "network" else site.storage)


def _one_of(node: ScalarNode, kind: str, known: Collection[str], message: str) -> str:
    if isinstance(node.value, bool):
        raise ValueError(f"{node.text} is not the name of a {kind}; put it in quotes if it is")
    if node.text not in known:
        raise ValueError(f"{message} {shown(node.text)}; {nearest(node.text, known)}")
    return node.text


def _checked(parameter: Parameter, node: ScalarNode) -> Scalar:
    """Return the value of a parameter, or of a program setting (see convert)."""
    value = convert(parameter, node)
    return checked_setting(parameter.name, str(value)) if parameter in PROGRAM_SETTINGS.values() else value


def _count(name: str, node: ScalarNode) -> int:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{_text(node)} is not a {COUNTS[name]}; use 1 or more")
    return value


def setting_from_text(name: str, text: str, parameters: Iterable[Parameter]) -> Scalar:
    """Return the value of a setting from outside a study, such as from the path of a log.

    Design settings and `parameters` have their kinds. Any other value is a whole number where it is written
    as one (``16``, but not ``016`` or ``1.10``, which may be names), else text. Raises ValueError with the
    cure.
    """
    node = ScalarNode(1, 1, text, resolve(text))
    if name in COUNTS:
        return _count(name, node)
    if name == "bind":
        return _one_of(node, "binding", [one.value for one in Binding], "there is no binding")
    if name in DESIGN_SETTINGS:
        return text
    for parameter in parameters:
        if parameter.name == name:
            return convert(parameter, node)
    is_whole = type(node.value) is int and str(node.value) == text
    return node.value if node.value is not None and is_whole else text


def convert(parameter: Parameter, node: ScalarNode) -> Scalar:
    """Return a parameter's value in the unit in which it is stored.

    Raises ValueError with the cure when the value is of another kind, not one of the choices, or too small.
    """
    value = _of_kind(parameter, node)
    if parameter.choices and value not in parameter.choices:
        choices = [str(choice) for choice in parameter.choices]
        raise ValueError(f"{_text(node)} is no choice of {parameter.name}; {nearest(node.text, choices)}")
    if parameter.minimum is not None and isinstance(value, (int, float)) and value < parameter.minimum:
        raise ValueError(
            f"{_text(node)} is too small for {parameter.name}; use {parameter.minimum:g} or more"
        )
    return value


def _of_kind(parameter: Parameter, node: ScalarNode) -> Scalar:
    kind, value = parameter.kind, node.value
    if kind is ParameterKind.TEXT:
        return node.text
    if kind is ParameterKind.FLAG:
        if isinstance(value, bool):
            return value
        raise ValueError(f"{_text(node)} is not a flag; {parameter.name} is true or false")
    if isinstance(value, bool) or value is None:
        raise ValueError(f"{_text(node)} is not {_TAKES[kind]}")
    if kind is ParameterKind.BYTES:
        return parse_bytes(value)
    if kind in _DIMENSIONS:
        quantity = parse_quantity(value, _DIMENSIONS[kind])
        if not math.isfinite(quantity):
            raise ValueError(f"{_text(node)} is too large; use a finite number")
        return quantity
    number: float | None = _multiple(value) if isinstance(value, str) else value
    if number is None or (kind is ParameterKind.WHOLE and not float(number).is_integer()):
        raise ValueError(f"{_text(node)} is not {_TAKES[kind]}")
    return _exact(parameter.name, node, number) if kind is ParameterKind.WHOLE else float(number)


def _exact(name: str, node: ScalarNode, number: float) -> int:
    """Return the whole number that `node` writes; `number` is it too, but rounded if it is a float."""
    is_rounded = isinstance(number, float) and abs(number) > _MOST_EXACT and isinstance(node.value, float)
    exact = int(Decimal(node.text)) if is_rounded else int(number)
    if abs(exact) > _MOST_WHOLE:
        raise ValueError(
            f"{_text(node)} is too large for a whole number; use at most {_MOST_WHOLE}, "
            f"or 'kind: text' for {name} if it is a name or a seed"
        )
    return exact


def _multiple(text: str) -> float | None:
    """Return ``20M`` as 20000000; None where `text` is not a number with a decimal prefix."""
    digits, prefix = text[:-1].strip(), text[-1:]
    if prefix not in _MULTIPLES or not digits.replace(".", "", 1).isdecimal():
        return None
    number = float(digits) * _MULTIPLES[prefix]
    return number if math.isfinite(number) else None


def _text(node: ScalarNode) -> str:
    return shown(node.text) if isinstance(node.value, str) else node.text
