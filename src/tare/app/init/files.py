"""Write the text of the site file and of the first study from a draft. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from tare.app.init.site_draft import NetworkDraft, PlatformDraft, SiteDraft, Stated
from tare.app.init.yaml_text import flow, line, scalar
from tare.core.visible_text import visible_line

SITE, STUDY = "site.yaml", "first.yaml"
_WIDTH = 108
_SPARE = "a CPU more for each rank: a pod's limit counts what runs beside the program, too"


def site_text(draft: SiteDraft, host: str, tried: str) -> str:
    """Return the site file.

    `tried` says how its platforms were tried, and `host` where and when it was written.
    """
    lines = _comment(
        f"Written by `tare init` on {host}. Comments say where each line comes from: change what you know "
        "better. `tare schema site` lists all keys; `tare doctor --site site.yaml` checks them again."
    )
    lines += [
        one
        for key, stated in draft.keys.items()
        for one in line(f"{key}: {flow(stated.value)}", stated.origin)
    ]
    if draft.networks:
        lines += ["", "networks:    # the first is what a study gets that names none"]
        lines += [text for one in draft.networks for text in _network(one)]
    lines += [
        "",
        *_comment(f"The first platform is what a study gets that names none. {tried}"),
        "platforms:",
    ]
    lines += _platforms(draft)
    if draft.storage:
        lines += ["", "storage:"]
        for name, stated in draft.storage.items():
            lines += line(f"{scalar(name)}: {scalar(stated.value)}", stated.origin, 2)
    if draft.remarks:
        lines += ["", "# What else was found:"]
        lines += [text for one in draft.remarks for text in _comment(one, "- ")]
    return "\n".join([*lines, ""])


def _network(one: NetworkDraft) -> Iterator[str]:
    if one.preface:
        yield from line(visible_line(one.preface), indent=2, is_off=True)
    yield from line(f"{scalar(one.name)}: {flow(one.options)}", one.origin, 2, is_off=one.is_off)


def _platforms(draft: SiteDraft) -> Iterator[str]:
    """Yield the platforms; a block that several of them have is written once (YAML 1.2, 3.2.2.2)."""
    blocks = [(key, value) for one in draft.working for key, value in one.options.items() if _is_block(value)]
    written: list[tuple[str, object]] = []
    for one in draft.platforms:
        is_off = bool(one.fault)
        if is_off:
            fault = f"{one.name} does not work: {one.fault}"
            yield from (f"  {text}" for text in _comment(visible_line(fault)))
        yield from line(f"{scalar(one.name)}:", one.origin, 2, is_off=is_off)
        for key, value in one.options.items():
            block = (key, value)
            if block in written and not is_off:
                yield from line(f"{key}: *{key}", "as above", 4)
                continue
            is_named = not is_off and blocks.count(block) > 1
            yield from _option(key, value, 4, is_off=is_off, anchor=f" &{key}" if is_named else "")
            written += [block] if is_named else []


def _option(key: str, value: object, indent: int, *, is_off: bool, anchor: str = "") -> Iterator[str]:
    stated = value if isinstance(value, Stated) else Stated(value, _reason(key, value))
    is_off = is_off or stated.is_off
    if isinstance(stated.value, Mapping) and _is_block(stated):
        yield from line(f"{scalar(key)}:{anchor}", stated.origin, indent, is_off=is_off)
        for name, inner in stated.value.items():
            yield from _option(name, inner, indent + 2, is_off=is_off)
    else:
        yield from line(f"{scalar(key)}: {flow(stated.value)}", stated.origin, indent, is_off=is_off)


def _is_block(value: object) -> bool:
    """Return whether a value is written with one line for each of its own values."""
    inside = value.value if isinstance(value, Stated) else None
    return isinstance(inside, Mapping) and any(isinstance(one, Stated) for one in inside.values())


def _reason(key: str, value: object) -> str:
    if key == "slurm" and isinstance(value, Mapping):
        whole = "whole nodes, since other jobs disturb; " if value.get("exclusive") else ""
        return f"{whole}one run at a time, since runs share switches"
    return ""


def study_text(draft: SiteDraft) -> str:
    """Return a first study that works at the site: two ranks, small messages, a few minutes."""
    platform = _first_able(draft)
    site = str(draft.keys["site"].value)
    lines = _comment(
        "A first study, written by `tare init`. `tare plan first.yaml --show` prints its runs and commands, "
        "`tare run first.yaml` carries them out."
    )
    lines.append("study: first")
    lines += _with_mpi(draft, platform) if platform else _without_mpi(draft, site)
    return "\n".join([*lines, ""])


def _first_able(draft: SiteDraft) -> PlatformDraft | None:
    """Return the platform that the study begins with; None if none can be measured.

    It is the first; where nodes share compiled programs, and more platforms have a compiler than IMB, it is
    the first of those: a comparison has one program.
    """
    able = [one for one in draft.working if one.is_mpi and (one.has_imb or one.may_compile)]
    compiled = [one for one in able if one.may_compile]
    if draft.shares_files and len(compiled) > sum(one.has_imb for one in able):
        return compiled[0]
    return able[0] if able else None


def _with_mpi(draft: SiteDraft, platform: PlatformDraft) -> Iterator[str]:
    """Yield a study of messages between two ranks, on two nodes where they can have the program."""
    is_compiled = not platform.has_imb or bool(platform.has_compiler and draft.shares_files)
    n_nodes = 1 if is_compiled and not draft.shares_files else min(2, draft.n_nodes)
    networks = draft.usable_networks if n_nodes > 1 else ()
    able = (one for one in draft.working if (one.may_compile if is_compiled else one.is_mpi and one.has_imb))
    mpis = [one.name for one in able]
    factor, levels = ("network", list(networks)) if len(networks) > 1 else ("platform", mpis)
    is_compared = len(levels) > 1
    question = (
        f"What does the {factor} cost, next to {levels[0]}?" if is_compared else "How fast are messages here?"
    )
    yield f"question: {scalar(question)}"
    yield f"site: {SITE}"
    if is_compared:
        yield f"reference: {flow({factor: levels[0]})}"
    yield from line(f"workload: {flow(_workload(is_compiled))}", _workload_reason(platform, is_compiled))
    if is_compared:
        yield from line(f"factors: {flow({factor: levels})}", f"each {factor} of {SITE} that works")
    if not (is_compared and factor == "platform"):
        yield from _choice(draft, platform)
    reason = "" if n_nodes > 1 or draft.n_nodes < 2 else "pods of several nodes share no compiled program"
    yield from line(f"nodes: {n_nodes}", reason)
    yield f"ranks_per_node: {2 // n_nodes}"
    if draft.spare_cpus >= 2 * (2 // n_nodes):  # the pod that starts the ranks takes a part of a CPU, too
        yield from line("threads: 2", _SPARE)
    yield "repeats: 5"
    yield f"timeout: {draft.job.minutes - 1} min"


def _choice(draft: SiteDraft, platform: PlatformDraft | None) -> Iterator[str]:
    """Yield the platform of a study, unless it is the first of the site, which a study has by default."""
    if platform and platform is not draft.working[0]:
        yield f"platform: {scalar(platform.name)}"


def _workload(is_compiled: bool) -> dict[str, object]:
    if is_compiled:
        return {"tare.p2p": {"max_bytes": "1MiB", "time_s": 0.2}}
    return {"imb.pingpong": {"max_bytes": "1MiB"}}


def _workload_reason(platform: PlatformDraft, is_compiled: bool) -> str:
    if not is_compiled:
        return f"IMB-MPI1 is among the programs of {platform.name}"
    if platform.has_compiler:
        return f"comes with Tare; mpicc of {platform.name} compiles it"
    return "needs an mpicc"


def _without_mpi(draft: SiteDraft, site: str) -> Iterator[str]:
    """Yield a study of a program that every Linux has, for a place without an MPI that can be measured."""
    has_mpi = any(one.is_mpi for one in draft.working)
    lack = "no MPI that was found has a compiler or IMB-MPI1" if has_mpi else "no MPI was found that works"
    yield f"question: {scalar(f'Which block size copies fastest at {site}?')}"
    yield f"site: {SITE}"
    yield "reference: {block: 64K}"
    yield "workloads:"
    yield f"  copy:    # {lack}, so this is a program that every Linux has"
    yield "    command: dd if=/dev/zero of=/dev/null bs={block} count=2G iflag=count_bytes"
    yield "    parameters: {block: 64K}"
    yield "    env: {LC_ALL: C}"
    yield r"    foms: [{name: elapsed, unit: s, better: lower, regex: 'copied, (\S+) s'}]"
    yield "    checks: [{matches: bytes}]"
    yield "    output: stderr"
    yield "workload: copy"
    yield from _choice(draft, next((one for one in draft.working if not one.is_mpi), None))
    if draft.spare_cpus:
        yield from line("threads: 2", _SPARE)
    yield "factors: {block: [4K, 64K, 1M]}"
    yield "repeats: 5"
    yield "timeout: 2 min"


def _comment(text: str, mark: str = "") -> list[str]:
    """Return `text` as lines of comments."""
    wrapped = textwrap.wrap(
        visible_line(text), _WIDTH - len(mark), break_long_words=False, break_on_hyphens=False
    )
    return [f"# {mark if number == 0 else ' ' * len(mark)}{one}" for number, one in enumerate(wrapped)]
