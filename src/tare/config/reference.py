"""Read the reference of a study: settings that at least one of its cases has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tare.config.document import MapNode, Node, ScalarNode
from tare.config.faults import Faults, nearest, shown
from tare.config.settings import Vocabulary, site_names
from tare.core.study import Factor, Level
from tare.core.values import Scalar


class ReferenceReader:
    """Reads the reference, and compares it with the levels of the study.

    If levels have faults, `is_whole` is False: what the other levels lack may be there once they are mended.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        faults: Faults,
        factors: Sequence[Factor],
        levels: Iterable[Level],
        *,
        is_whole: bool = True,
    ) -> None:
        self.is_whole = is_whole
        self.vocabulary = vocabulary
        self.faults = faults
        self.factors = {factor.name: factor for factor in factors}
        self.named_levels: dict[str, str] = {}
        self._written: dict[str, dict[Scalar, None]] = {}
        for level in levels:
            for name, value in level.settings.items():
                self._written.setdefault(name, {})[value] = None

    def read(self, node: Node | None) -> dict[str, Scalar]:
        """Return the settings of the reference; the name of a factor's level means that level's settings."""
        reference: dict[str, Scalar] = {}
        for name, entry in node.entries.items() if isinstance(node, MapNode) else ():
            path = ("reference", name)
            if self.vocabulary.is_software(name) and self._is_name_alone(name):
                reference.update(self._named_level(self.factors[name], entry.value))
            elif self.vocabulary.is_known(name):
                value = self.vocabulary.read(name, entry.value, path, self.faults)
                if value is not None and self._is_had(name, value, entry.value):
                    reference[name] = value
            elif name in self.factors:
                reference.update(self._named_level(self.factors[name], entry.value))
            else:
                self.faults.add(entry, path, self.vocabulary.unknown(name))
        return reference

    def _is_had(self, name: str, value: Scalar, node: Node) -> bool:
        """Return whether a case may have `value`; record a fault when none has it."""
        known = dict.fromkeys((*self._written.get(name, {}), *self._defaults(name)))
        if not self.is_whole or not known or value in known or self.vocabulary.is_software(name):
            return True  # if nothing sets it, or levels add up, the plan computes it
        message = f"no case has {name} {shown(str(value))}; {nearest(str(value), map(str, known))}"
        self.faults.add(node, ("reference", name), message)
        return False

    def _defaults(self, name: str) -> Iterator[Scalar]:
        site = self.vocabulary.site
        if site is not None and name in ("platform", "network", "storage"):
            yield from site_names(site, name)[:1]
        for parameter in self.vocabulary.parameters.get(name, ()):
            if parameter.default is not None:
                yield parameter.default

    def _is_name_alone(self, name: str) -> bool:
        """Return whether `name` is a factor whose levels do not set a setting of this name."""
        levels = self.factors[name].levels if name in self.factors else ()
        return bool(levels) and not any(name in one.settings for one in levels)

    def _named_level(self, factor: Factor, node: Node) -> dict[str, Scalar]:
        text = node.text if isinstance(node, ScalarNode) else ""
        named = {level.name: level for level in factor.levels if level.name is not None}
        if text in named:
            self.named_levels[factor.name] = text
            return dict(named[text].settings)
        if not self.is_whole:
            return {}
        message = f"factor {factor.name} has no level named {shown(text)}; "
        message += nearest(text, named) if named else "give its levels a 'name', or refer to their settings"
        self.faults.add(node, ("reference", factor.name), message)
        return {}
