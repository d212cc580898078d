"""What combinations share that differ in nothing but parameters: it is worked out once for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tare.core.case import Binding, Layout
from tare.core.values import Scalar
from tare.plan.content import Outline


class Placed(NamedTuple):
    """The layout in which a case runs, or why it cannot, and the setting to blame."""

    layout: Layout
    fault: str = ""
    at: str = ""


class Running:
    """How cases run that differ in nothing but parameters: their outline, and what the study asks otherwise.

    `differing` holds the layout settings whose used value is not the asked one.
    """

    def __init__(self, outline: Outline, differing: Mapping[str, tuple[Scalar, Scalar]]) -> None:
        self.outline = outline
        self.differing = differing
        self.has_cases = False


class Alike:
    """What is worked out once for combinations that differ in nothing but parameters.

    - `asked` is the outline of their cases as the study asks for them, with the layout settings `names` and
      the binding `wish`. `used` is how they run, by layout.
    - `placed` and `reasons` are the same for all of them where their workload says so (see Workload).
    - `running` is how all of them run, where nothing of that depends on their parameters.
    """

    def __init__(self, asked: Outline, names: frozenset[str], wish: Binding | None) -> None:
        self.asked = asked
        self.workload = asked.case.workload
        self.names = names
        self.wish = wish
        self.used: dict[Layout, Running] = {}
        self.placed: Placed | None = None
        self.reasons: tuple[str, ...] | None = None
        self.running: Running | None = None
