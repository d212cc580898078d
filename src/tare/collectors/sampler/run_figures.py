"""Figures of the run itself, out of what its control group counted, and of what others took beside it."""

from __future__ import annotations

from collections.abc import Sequence

Counters = dict[str, float]

_TICKS_A_SECOND = 100.0  # USER_HZ, in which /proc/stat counts (proc_stat(5), time(7))
_OF_PROGRAMS = ("user", "nice", "system")  # interrupts come for whoever runs: they are nobody's
_LEAST_TICKS = 100  # of all cores: of fewer, the one tick by which a counter may be wrong is more than 1 %
_KINDS = (*_OF_PROGRAMS, "idle", "iowait", "irq", "softirq", "steal")

_PLAIN = {
    "run_cpu": "cpu_s",
    "run_cpu_user": "user_s",
    "run_cpu_system": "system_s",
    "run_oom_kills": "oom_kills",
    "run_read": "read_bytes",
    "run_written": "written_bytes",
}
_PRESSED = {
    f"run_{kind}_{name}": f"{kind}_{whom}_s"
    for kind in ("cpu", "memory", "io")
    for name, whom in (("pressure", "some"), ("stall", "full"))
}


def run_figures(read: Sequence[Counters], counted: Counters, seconds: float) -> Counters:
    """Return the figures of a run by name (see model.telemetry.FIGURES).

    `read` are the counters of its control group, ``run.…``, in each sample of its last stage; `counted` what
    the node counted in these `seconds`. None where the group was not read in this stage, as where there is
    none: the first sample is from before the stage.
    """
    took = read[-1]
    if "run.cpu_s" not in took or took == read[0]:
        return {}
    figures = {name: took[f"run.{one}"] for name, one in _PLAIN.items() if f"run.{one}" in took}
    figures |= {
        name: min(100 * took[f"run.{one}"] / seconds, 100.0)
        for name, one in _PRESSED.items()
        if f"run.{one}" in took
    }
    if took.get("run.periods"):
        figures["run_throttled"] = 100 * took["run.throttlings"] / took["run.periods"]
    levels = [one["run.memory_current_bytes"] for one in read[1:] if "run.memory_current_bytes" in one]
    peak = took.get("run.memory_peak_bytes", max(levels, default=None))
    if peak is not None:
        figures["run_memory_peak"] = peak
    others = others_share(took["run.cpu_s"], counted)
    return figures if others is None else figures | {"cpu_others": others}


def others_share(run_cpu_s: float, counted: Counters) -> float | None:
    """Return the percentage of the time of all cores that programs beside the run took; None if not known.

    Nor is it of a run so short that the ticks of the counters are coarser than one percent.
    """
    ticks = {kind: counted.get(f"cpu.{kind}") for kind in _KINDS}
    total = sum(one or 0.0 for one in ticks.values())
    if total < _LEAST_TICKS or ticks["idle"] is None:
        return None
    taken_s = sum(ticks[kind] or 0.0 for kind in _OF_PROGRAMS) / _TICKS_A_SECOND
    return 100 * max(taken_s - run_cpu_s, 0.0) / (total / _TICKS_A_SECOND)
