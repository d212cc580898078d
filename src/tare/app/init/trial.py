"""Try the platforms of a draft as `tare doctor --site` does, and mark those that do not work."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tare.app.init.files import SITE, site_text
from tare.app.init.site_draft import PlatformDraft, SiteDraft
from tare.app.patience import Patience
from tare.app.platform_checks import COMPILED
from tare.app.site_doctor import examine
from tare.config import SiteSource
from tare.config.site_file import site_from_text
from tare.core.checks import Finding
from tare.core.counting import count
from tare.core.visible_text import said_line


def announcement(draft: SiteDraft, wait_s: int) -> str:
    """Return which jobs of a batch system try the platforms, in sentences; empty if there are none."""
    names = [one.name for one in draft.platforms if one.is_mpi and one.options.get("backend") == "slurm"]
    if not names:
        return ""
    each = "it runs" if len(names) == 1 else "they run one after the other, each"
    return (
        f"To try each platform, {count(len(names), 'job')} of seconds: {each} on "
        f"{count(draft.job.nodes, 'node')}, for {count(draft.job.minutes, 'minute')} at most: "
        f"{', '.join(names)}. A job that waits for {wait_s} s is cancelled (--wait)."
    )


def try_out(draft: SiteDraft, host: str, *, starts_ranks: bool, patience: Patience) -> Iterator[Finding]:
    """Yield what `tare doctor --site` finds at the site of the draft (see site_doctor.examine)."""
    text = site_text(draft, host, "")
    source = SiteSource(site_from_text(text, SITE), text, SITE)
    yield from examine(source, starts_ranks=starts_ranks, patience=patience)


def marked(draft: SiteDraft, findings: list[Finding]) -> SiteDraft:
    """Return the draft, with the fault of each platform that did not work, and what ran on the others.

    If none works, all stay: a site has platforms, and its user sees their faults.
    """
    faults = {one.name: one.found for one in findings if one.is_met is False}
    programs = {one.name: one.program for one in findings if one.program}
    platforms = tuple(_marked(_with_programs(one, programs), faults) for one in draft.platforms)
    if all(one.fault for one in platforms):
        return draft
    return msgspec.structs.replace(draft, platforms=platforms)


def _with_programs(one: PlatformDraft, programs: dict[str, str]) -> PlatformDraft:
    """Return the platform with the programs that it can run: what ran counts, not what is on a path."""
    if one.name not in programs:
        return one
    is_compiled = programs[one.name] == COMPILED
    return msgspec.structs.replace(one, has_compiler=is_compiled, has_imb=one.has_imb or not is_compiled)


def _marked(one: PlatformDraft, faults: dict[str, str]) -> PlatformDraft:
    found = faults.get(one.name)
    return msgspec.structs.replace(one, fault=said_line(found, 300)) if found else one


def how_tried(draft: SiteDraft, findings: list[Finding]) -> str:
    """Return which platforms started two ranks of one program, as a sentence of the site file."""
    good = {one.name for one in findings if one.is_met}
    tried = [one.name for one in draft.working if one.is_mpi and one.name in good]
    if not tried:
        return "Nothing shows that one of them starts two ranks."
    where = "one node" if draft.n_nodes < 2 else "two nodes"
    return f"These started two ranks of one program on {where}: {', '.join(tried)}."


def untried(draft: SiteDraft, findings: list[Finding]) -> SiteDraft:
    """Return the draft with a remark on each platform of which the trial could not tell whether it works.

    So have those on which IMB ran, and what their compiler makes did not.
    """
    names = {one.name for one in draft.platforms}
    open_ones = [one for one in findings if one.is_met is None and one.name in names]
    remarks = [f"Not known whether {one.name} works: {one.found}." for one in open_ones]
    remarks += [
        f"IMB-MPI1 ran on {one.name}, and nothing that an mpicc compiles there: {one.found}."
        for one in findings
        if one.name in names and one.program not in ("", COMPILED)
    ]
    return msgspec.structs.replace(draft, remarks=(*draft.remarks, *remarks))
