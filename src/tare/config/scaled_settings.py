"""Read the settings along which a study looks at scaling."""

from __future__ import annotations

from collections.abc import Iterable

from tare.analysis.lines import is_number, scale_name
from tare.config.conditions import ConditionReader
from tare.config.document import Node, child
from tare.config.faults import shown
from tare.config.study_types import ScalingFile
from tare.core.study import Level, Scaling
from tare.core.workload import written

_CURE = "scaling goes along numbers; name a setting such as nodes, or a parameter of a kind that counts"


def read_scaling(
    root: Node, file: ScalingFile, conditions: ConditionReader, levels: Iterable[Level]
) -> Scaling:
    """Return the settings that `file`, the key ``scaling`` of the study `root`, names, with faults recorded.

    A scale has numbers, and so has all that grows with it in weak scaling. In strong scaling, what changes
    along with the scale may be anything.
    """
    scaling = Scaling(file.strong or (), file.weak or ())
    settings = [item for level in levels for item in level.settings.items()]
    texts = {name: written(value, None) for name, value in settings if not is_number(value)}
    for kind, names in (("strong", scaling.strong), ("weak", scaling.weak)):
        node = child(child(root, "scaling"), kind) or root
        for name in names:
            fault = None
            if not conditions.knows(name):
                fault = conditions.vocabulary.unknown(name)
            elif name in texts and (kind == "weak" or name == scale_name(names)):
                fault = f"{shown(texts[name])}, a level of {name}, is no number; {_CURE}"
            if fault:
                conditions.faults.add(node, ("scaling", kind), fault)
    return scaling
