"""Describe in sentences what decided the number of blocks."""

from __future__ import annotations

from collections.abc import Iterator

from tare.analysis.repeats.budget import describe_budget
from tare.analysis.repeats.stop_reason import StopReason, stop_reason
from tare.analysis.verdicts.row_notes import nth_look
from tare.analysis.verdicts.timed_out_runs import timed_out
from tare.core.campaign import Campaign
from tare.core.counting import count, every
from tare.core.study import Budget
from tare.report.history import History
from tare.report.words.numbers import percent


def ending_sentences(campaign: Campaign, found: History) -> Iterator[str]:
    """Yield the stopping rule and its state, the effect of the budget, and how often results were seen."""
    repeats = campaign.plan.repeats
    if repeats.until is None and repeats.budget == Budget():
        yield from _looks(campaign, found)
        return
    end = stop_reason(campaign)
    if repeats.until is not None:
        blocks = f"{repeats.min} to {repeats.max}" if repeats.max > repeats.min else str(repeats.min)
        yield (
            f"The study asks for {blocks} {'block' if repeats.max == 1 else 'blocks'}, until each interval "
            "is within "
            f"± {percent(repeats.until, is_signed=False)}; the rule looks at widths alone, "
            "and never at verdicts."
        )
        yield _known(end, sum(timed_out(campaign).values()))
    if repeats.budget != Budget():
        budget = f"A budget of {describe_budget(repeats.budget)} limits it"
        yield f"{budget}{': the next runs do not fit into that' if end.is_budget_spent else ''}."
    yield from _looks(campaign, found)


def _known(end: StopReason, n_timed_out: int) -> str:
    n_all = end.n_settled + len(end.unsettled)
    were = "that was ended at its" if n_timed_out == 1 else "that were ended at their"
    survived = f", without the {count(n_timed_out, 'run')} {were} time-out" if n_timed_out else ""
    if not n_all:
        return "Nothing is known by now that it could judge."
    if not end.unsettled:
        return f"By now {'it is' if n_all == 1 else f'{every(n_all)} are'}{survived}."
    if n_all == 1:
        return f"By now it is not{survived}."
    is_one = end.n_settled == 1
    return f"By now {end.n_settled} of {count(n_all, 'case')} {'is' if is_one else 'are'}{survived}."


def _looks(campaign: Campaign, found: History) -> Iterator[str]:
    """Yield how often blocks were added after results could be seen, as the verdicts count it."""
    last = max(found.looks.values(), default=1)
    if last == 1:
        return
    more = "once" if last == 2 else f"{last - 1} times"
    n_last = sum(look == last for look in found.looks.values())
    one = "contender" if campaign.plan.reference else "case"
    them = "them" if n_last == len(found.looks) else f"{n_last} of {count(len(found.looks), one)}"
    yield f"Blocks were added {more} after results could be seen, so this is {nth_look(last)} at {them}."
