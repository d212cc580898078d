from __future__ import annotations

from tare.core.case import Case, Layout
from tare.core.values import Scalar
from tare.core.workload import Workload


def case_of(workload: Workload, layout: Layout | None = None, **parameters: Scalar) -> Case:
    """Return a case of `workload` with its defaults, on two nodes with one rank each."""
    defaults = {one.name: one.default for one in workload.parameters if one.default is not None}
    return Case(
        id="0" * 16,
        workload=workload.name,
        platform="bare",
        layout=layout or Layout(nodes=2, ranks=2, ranks_per_node=1),
        parameters={**defaults, **parameters},
    )
