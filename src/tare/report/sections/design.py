"""Describe how the runs were made, in sentences that follow from what actually happened."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from tare.analysis.pairs import pairs
from tare.analysis.spans import Quartiles, platform_spans
from tare.analysis.trust.interrupted_blocks import SHORTEST_S
from tare.analysis.trust.session_changes import session_changes
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.counting import count
from tare.core.plan import Plan
from tare.core.units import format_seconds
from tare.report.history import Facts, History, SessionRecord, changed_facts, history
from tare.report.sections.imported import imported_sentences
from tare.report.sections.runs import moment
from tare.report.sections.stop_reason import ending_sentences
from tare.report.variants import lay_out
from tare.report.words.numbers import listed, visible
from tare.report.words.scaling import settings_words
from tare.report.words.session_changes import changes_words

_MOST_SESSIONS = 6
"""The most sessions that are described one by one; the others are described together."""

_MOST_NAMES = 4

_LONGEST_FACT = 60
"""The most characters of a fact's value; longer values are not shown."""


def design(campaign: Campaign) -> tuple[str, ...]:
    """Return how the runs of `campaign` were made, as sentences."""
    found = history(campaign)
    sentences = [*imported_sentences(campaign)]
    if found.sessions:
        sentences += [
            *_sessions(campaign, found.sessions),
            *_reparsed(campaign),
            *order_sentences(campaign, found),
            *_blocks(found),
            *_gaps(found),
            *_later(campaign, found),
            *_hosts(found.sessions),
            *_versions(found.sessions),
            *_changes(campaign),
            *_counted(found),
            *ending_sentences(campaign, found),
            *_spans(campaign),
            *_watched(found),
        ]
    return tuple(sentences)


def order_sentences(campaign: Campaign, found: History) -> Iterator[str]:
    """Yield in which order runs began, from their start times; nothing if no pass has two runs."""
    if not found.n_passes:
        return
    passes = count(found.n_passes, "pass", "passes")
    if found.n_drawn == found.n_passes:
        drawn = "in the order that was drawn at random for its block"
        each = f"The pass over cases of a block began its runs {drawn}"
        if found.n_passes > 1:
            each = f"Each of {passes} over cases of a block began its runs {drawn}"
        yield f"{each} (seed {campaign.plan.seed})."
    else:
        others = found.n_passes - found.n_drawn
        yield (
            f"Of {passes} over cases of a block, {others} began {'its' if others == 1 else 'their'} runs "
            f"in another order than seed {campaign.plan.seed} draws at random; "
            f"{'all were in one order' if found.n_orders == 1 else f'there were {found.n_orders} orders'}."
        )
    if found.n_interleaved:
        began = "pass began" if found.n_interleaved == 1 else "passes began"
        yield f"{found.n_interleaved} {began} before the one before it had begun all of its runs."
    if found.n_at_once > 1:
        yield f"Up to {count(found.n_at_once, 'run')} were made at a time."


def further_sentences(found: History) -> Iterator[str]:
    """Yield the reasons why runs were made more than once, or that none was."""
    if found.n_repeated:
        was = "attempt was" if found.n_repeated == 1 else "attempts were"
        yield (
            f"{found.n_repeated} further {was} made because the infrastructure had failed, or tare had ended "
            "before the run did."
        )
    if found.n_tried_again:
        n = found.n_tried_again
        yield f"{count(n, 'run')} that had failed or {_was(n)} invalid {_was(n)} tried again on request."
    if found.n_again:
        yield (
            f"{count(found.n_again, 'run')} that had come out well {_was(found.n_again)} made once more in a "
            "later session, so that what is compared ran together."
        )
    if not (found.n_repeated or found.n_tried_again or found.n_again):
        yield "No measured run was made twice."


def _reparsed(campaign: Campaign) -> Iterator[str]:
    """Yield that figures were read anew from outputs of another campaign, if they were."""
    if (found := campaign.reparse) is None:
        return
    n = found.n_changed
    yield (
        f"The outputs of {count(found.n_runs, 'run')} of the campaign {visible(found.source)} were read anew "
        f"on {moment(found.at):%Y-%m-%d} (tare reparse): {count(n, 'run')} {_was(n)} of another state before."
    )


def _was(n: int) -> str:
    return "was" if n == 1 else "were"


def _sessions(campaign: Campaign, sessions: Sequence[SessionRecord]) -> Iterator[str]:
    if len(sessions) == 1:
        yield f"All runs of Tare were made in one session, {_when(sessions[0])}{_resumed(sessions[0])}."
        return
    shown = [
        f"session {one.number}, {_when(one)}, with {count(one.n_runs, 'measured run')}{_resumed(one)}"
        for one in sessions[:_MOST_SESSIONS]
    ]
    rest = len(sessions) - len(shown)
    more = f"; and {rest} more until {_at(max(one.last_at for one in sessions))}" if rest else ""
    which = "The runs of Tare" if campaign.is_imported else "The runs"
    yield f"{which} were made in {count(len(sessions), 'session')}: {'; '.join(shown)}{more}."
    gaps = [after.first_at - before.last_at for before, after in pairwise(sessions)]
    if min(gaps) >= 0:
        lay = "Between them lay" if len(gaps) == 1 else "The longest time between two of them was"
        yield f"{lay} {format_seconds(max(gaps))}."
    elif any(after.first_at < before.first_at for before, after in pairwise(sessions)):
        yield (
            "One began before the one before it by the clock: that was set between them, and how long lay "
            "between is not known."
        )
    else:
        yield (
            "Their times overlap: runs of one were still under way when the next began, as jobs of a batch "
            "system are, or a clock was set between them."
        )
    if pairs(campaign):
        asked = "; what did not run together is compared unpaired, as was asked for"
        yield f"Only runs of one block and one session are paired{asked if campaign.is_unpaired else ''}."


def _when(one: SessionRecord) -> str:
    first, last = moment(one.first_at), moment(one.last_at)
    end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
    return f"{first:%Y-%m-%d %H:%M} to {end} UTC"


def _at(seconds: float) -> str:
    return f"{moment(seconds):%Y-%m-%d}"


def _resumed(one: SessionRecord) -> str:
    if not one.n_resumed:
        return ""
    times = "once" if one.n_resumed == 1 else f"{one.n_resumed} times"
    return f", resumed {times} within five minutes of an interruption"


def _blocks(found: History) -> Iterator[str]:
    if not found.n_blocks:
        return
    if found.n_complete == found.n_blocks:
        each = "It has" if found.n_blocks == 1 else "Each has"
        whole = "a measured run of every case that it was begun with, made together"
        yield f"{count(found.n_blocks, 'block')}. {each} {whole}."
    else:
        yield (
            f"{count(found.n_blocks, 'block')}, of which {found.n_complete} "
            f"{'has' if found.n_complete == 1 else 'have'} measured runs of all their cases, made together."
        )


def _gaps(found: History) -> Iterator[str]:
    if found.n_parted:
        lay = "block was parted" if found.n_parted == 1 else "blocks were parted"
        yield (
            f"{found.n_parted} {lay} by a time in which nothing of it ran, far beyond the ordinary span "
            "of a block: runs before and after it are not paired."
        )
    if found.longest_gap_s > SHORTEST_S:
        yield (
            f"Within a block, nothing of it ran for up to {format_seconds(found.longest_gap_s)}, which parts "
            "no pairs: the machine may have changed meanwhile."
        )


def _later(campaign: Campaign, found: History) -> Iterator[str]:
    if found.added:
        cases = [campaign.cases[case] for case in found.added if case in campaign.cases]
        shown = [_varied_words(campaign.plan, case) for case in cases[:_MOST_NAMES]]
        rest = f" and {len(found.added) - len(shown)} more" if len(found.added) > len(shown) else ""
        numbers = sorted(set(found.added.values()))
        yield (
            f"{count(len(found.added), 'case')} first ran in a later session "
            f"({listed([str(number) for number in numbers])}): {'; '.join(shown)}{rest}."
        )
    yield from further_sentences(found)


def _varied_words(plan: Plan, case: Case) -> str:
    """Return what the study varies of a case: ``host · 8 nodes``."""
    settings = case.settings
    varied = {name: settings[name] for name in plan.varied if name in settings}
    return settings_words(varied, plan.kinds_of(case.workload))


def _hosts(sessions: Sequence[SessionRecord]) -> Iterator[str]:
    for before, after in pairwise(sessions):
        new = sorted(after.hosts - before.hosts)
        if before.hosts and new:
            names = [visible(name) for name in new[:_MOST_NAMES]]
            more = [f"{len(new) - _MOST_NAMES} more"] if len(new) > _MOST_NAMES else []
            used = f"that session {before.number} did not: {listed([*names, *more])}"
            yield f"Session {after.number} used {'a host' if len(new) == 1 else 'hosts'} {used}."
        changed = changed_facts(before.facts, after.facts)
        if changed:
            facts = sorted(set().union(*changed.values()))
            shown = [_fact(name, changed, before.facts, after.facts) for name in facts[:_MOST_NAMES]]
            more = [f"{len(facts) - _MOST_NAMES} more"] if len(facts) > _MOST_NAMES else []
            yield (
                f"Between sessions {before.number} and {after.number} changed what was recorded of "
                f"{count(len(changed), 'host')}: {listed([*shown, *more])}."
            )


def _fact(name: str, changed: Mapping[str, Collection[str]], before: Facts, after: Facts) -> str:
    """Return the name of a fact that changed, with its old and new value if all hosts have the same."""
    keys = [key for key in after if name in changed.get(key[1], ()) and name in before.get(key, {})]
    old, new = ({value for key in keys for value in facts[key][name]} for facts in (before, after))
    if len(old) > 1 or len(new) > 1 or max(map(len, old | new)) > _LONGEST_FACT:
        return visible(name)
    return f"{visible(name)} (from {visible(*old)} to {visible(*new)})"


def _versions(sessions: Sequence[SessionRecord]) -> Iterator[str]:
    """Yield which versions of Tare made the runs, if there were several."""
    known = [one for one in sessions if one.tare]
    if len({one.tare for one in known}) > 1:
        shown = [f"session {one.number} by {visible(one.tare)}" for one in known[:_MOST_SESSIONS]]
        more = [f"{len(known) - len(shown)} more"] if len(known) > len(shown) else []
        yield f"Their versions of Tare differ: {listed([*shown, *more])}."


def _changes(campaign: Campaign) -> Iterator[str]:
    found = session_changes(campaign)
    if found:
        for line in changes_words(found, lay_out(campaign, ()).case_label):
            yield f"{line[0].upper()}{line[1:]}."


def _counted(found: History) -> Iterator[str]:
    if found.n_warmup:
        do = "does" if found.n_warmup == 1 else "do"
        yield f"{count(found.n_warmup, 'warm-up run')} {do} not count."
    parts = [f"{found.n_excluded[state]} {state.value}" for state in State if found.n_excluded.get(state)]
    if parts:
        n = sum(found.n_excluded.values())
        yield f"{count(n, 'attempt')} {'does' if n == 1 else 'do'} not count: {listed(parts)}."
    if found.n_clock:
        during = "During one of them" if found.n_clock == 1 else f"During {found.n_clock} of them"
        yield f"{during} the machine was suspended, or its clock was set."
    yield "Only runs whose output passed every check count."


def _spans(campaign: Campaign) -> Iterator[str]:
    """Yield how long runs took before, in and after their programs, for each platform with a queue."""
    for one in platform_spans(campaign):
        yield (
            f"On {visible(one.platform)} the median (quartiles) of {count(one.program.n, 'run')} was "
            f"{_times(one.queued)} in the queue, {_times(one.starting)} from there until the program began, "
            f"{_times(one.program)} in the program, and {_times(one.ending)} until the results were home."
        )


def _times(one: Quartiles) -> str:
    if one.upper <= 0:
        return "no time"
    return f"{format_seconds(one.median)} ({format_seconds(one.lower)} to {format_seconds(one.upper)})"


def _watched(found: History) -> Iterator[str]:
    if not found.n_measured:
        return
    if found.n_watched == found.n_measured:
        yield "The nodes were watched during every measured run."
    elif found.n_watched:
        yield f"The nodes were watched during {found.n_watched} of {count(found.n_measured, 'measured run')}."
    else:
        yield "What the nodes did during the runs was not recorded."
