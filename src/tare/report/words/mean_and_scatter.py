"""Write by how much a contender differs in the mean and in scatter from run to run, in one sentence."""

from __future__ import annotations

from tare.core.attribution import Attribution
from tare.core.counting import count
from tare.report.variants import Variants
from tare.report.words.causes import change_said, is_told
from tare.report.words.scatter_causes import is_scatter_told, noisier, times_said


def mean_and_scatter_sentence(one: Attribution, variants: Variants) -> str:
    """Return both differences, without a full stop; empty if the scatters do not differ for certain.

    Both are of wall times of profiled runs. A difference in the mean is quoted only if it is certain, and
    runs without the profile do not contradict it.
    """
    if one.scatter is None or one.ratio is None or not is_scatter_told(one.scatter):
        return ""
    contender, reference = (
        variants.variant_of[case].name for case in (one.contender_case, one.reference_case)
    )
    more, less = (contender, reference) if one.scatter.ratio.value >= 1 else (reference, contender)
    scatters = f"scatter {times_said(noisier(one.scatter.ratio))} as much on {more} as on {less}"
    configuration = variants.configuration_of[one.contender_case]
    nodes = f" on {count(configuration.nodes, 'node')}" if configuration.nodes else ""
    program = f"{configuration.title}{nodes}"
    if is_told(one):
        return (
            f"{contender} makes {program} take {change_said(one.ratio)} in the mean of "
            f"profiled runs, and from run to run their times {scatters}"
        )
    return (
        f"it is not certain that times of profiled runs of {program} differ in the mean between {contender} "
        f"and {reference}, but from run to run they {scatters}"
    )
