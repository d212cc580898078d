"""A plan: the cases of a study at a site, and the order in which each block passes over them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from tare.model.case import Case
from tare.model.study import Repeats, Scaling
from tare.model.values import Scalar, Settings
from tare.model.watching import Watching
from tare.model.workload import Fom
from tare.units import write_bytes


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a campaign will do. `varied` names the settings that differ between cases, `sizes` those in bytes.

    `foms` holds the figures of merit by workload.
    """

    study: str
    question: str = ""
    site: str
    cases: tuple[Case, ...]
    varied: tuple[str, ...] = ()
    reference: Settings = {}
    repeats: Repeats = Repeats()
    warmup: int = 0
    margin: float = 0.02
    timeout_s: float = 600.0
    retries: int = 2
    seed: int = 1
    foms: Mapping[str, tuple[Fom, ...]] = {}
    scaling: Scaling = Scaling()
    telemetry: Watching = Watching()
    sizes: tuple[str, ...] = ()

    @property
    def n_runs(self) -> int:
        """Return how many measured runs it takes at least; more where `repeats` may go on."""
        return len(self.cases) * self.repeats.min

    def order(self, block: int) -> tuple[Case, ...]:
        """Return every case once, in the random order of `block` (a randomised complete block).

        Cases are sorted by a keyed hash rather than shuffled, so that a campaign that grows keeps
        the order of what it has.
        """
        key = f"{self.seed}:{block}".encode()

        def rank(case: Case) -> bytes:
            return hashlib.blake2b(case.id.encode(), key=key, digest_size=8).digest()

        return tuple(sorted(self.cases, key=rank))

    def reference_of(self, case: Case) -> Case | None:
        """Return the case that `case` is held against: the same but for the reference's settings.

        None for a reference case itself, and where the plan has no such case.
        """
        if not self.reference or self.is_reference(case):
            return None
        return self._by_settings.get(_key(case.settings | dict(self.reference)))

    def is_reference(self, case: Case) -> bool:
        """Return whether `case` has every setting of the reference."""
        settings = case.settings
        return all(settings.get(name) == value for name, value in self.reference.items())

    def written(self, name: str, value: Scalar) -> str:
        """Return a setting's value as a study writes it: ``64KiB`` for a size."""
        return write_bytes(value) if name in self.sizes and isinstance(value, int) else str(value)

    @property
    def _by_settings(self) -> dict[frozenset[tuple[str, object]], Case]:
        index: dict[frozenset[tuple[str, object]], Case] | None = self.__dict__.get("_index")
        if index is None:
            index = self.__dict__["_index"] = {_key(case.settings): case for case in self.cases}
        return index


def _key(settings: Settings) -> frozenset[tuple[str, object]]:
    return frozenset(settings.items())
