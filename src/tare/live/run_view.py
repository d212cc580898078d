"""The content of the page of one run: its result and its evidence."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from urllib.parse import quote

from tare.core.attempt import Attempt, State
from tare.core.errors import CampaignError, UnreadableFile
from tare.core.pseudonyms import NO_PSEUDONYMS, Pseudonyms
from tare.core.safe_folder import SafeFolder
from tare.core.units import format_seconds
from tare.live.campaign_state import CampaignState
from tare.live.logs import Chunk, find_streams, read_chunk
from tare.live.view import block_name, campaign_url, elapsed, reason, run_url, when
from tare.report.evidence import Command, read_commands
from tare.report.variants import Variants
from tare.report.words.numbers import coordinate, listed, number, quantity, visible, words
from tare.storage.campaign import read_environment
from tare.storage.pseudonymous import PseudonymousView

_MOST_FIGURES = 200


@dataclasses.dataclass(frozen=True)
class Stream:
    """The end of one output stream, and the URLs of the rest."""

    name: str
    chunk: Chunk
    log_url: str
    file_url: str


@dataclasses.dataclass(frozen=True)
class RunPage:
    """The content of the page of one attempt."""

    url: str
    campaign_url: str
    label: str
    block: str
    state: State
    is_live: bool
    reason: str
    facts: tuple[tuple[str, str], ...]
    siblings: tuple[tuple[str, str], ...]
    streams: tuple[Stream, ...]
    commands: tuple[Command, ...]
    transport: str
    traffic: tuple[tuple[str, str, int, int, int], ...]
    figures: tuple[tuple[str, str, str], ...]
    n_more_figures: int
    environment: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    unreadable: tuple[str, ...]


def run_page(
    name: str,
    campaign_state: CampaignState,
    variants: Variants,
    attempt: Attempt,
    pseudonyms: Pseudonyms = NO_PSEUDONYMS,
) -> RunPage:
    """Return the page's content for an attempt, with the ends of its output streams.

    What is there and cannot be read is named in `unreadable`, with the reason.
    """
    state = campaign_state.state_of(attempt)
    folder = SafeFolder(campaign_state.folder, attempt.folder)
    figures = _figures(attempt)
    unreadable: list[str] = []
    return RunPage(
        url=run_url(name, attempt),
        campaign_url=campaign_url(name),
        label=variants.case_label(attempt.case),
        block=block_name(attempt.block),
        state=state,
        is_live=state is State.RUNNING,
        reason="" if state is State.DONE else visible(reason(campaign_state, attempt)),
        facts=tuple(_facts(attempt, state)),
        siblings=tuple(_siblings(name, campaign_state, attempt)),
        streams=_streams(
            run_url(name, attempt), folder, pseudonyms, is_live=state is State.RUNNING, unreadable=unreadable
        ),
        commands=tuple(_commands(folder, pseudonyms, unreadable)),
        transport=visible(attempt.transport_evidence),
        traffic=tuple(
            (visible(host), visible(interface), one.tx_bytes, one.rx_bytes, one.tx_packets + one.rx_packets)
            for host, interfaces in attempt.traffic.items()
            for interface, one in interfaces.items()
        ),
        figures=tuple(figures[:_MOST_FIGURES]),
        n_more_figures=max(len(figures) - _MOST_FIGURES, 0),
        environment=tuple(_environment(campaign_state.folder, attempt, pseudonyms, unreadable)),
        unreadable=tuple(unreadable),
    )


def _facts(one: Attempt, state: State) -> list[tuple[str, str]]:
    facts = [
        ("Run", f"{block_name(one.block)}, attempt {one.attempt} of case {visible(one.case)}"),
        ("Started", when(one.started_at)),
        ("Took", elapsed(one, state)),
        ("In the queue", format_seconds(one.queued_s) if one.queued_s else ""),
        ("Until its program began", format_seconds(one.starting_s) if one.starting_s else ""),
        ("Until its results were home", format_seconds(one.ending_s) if one.ending_s else ""),
        ("Exit code", "" if one.exit_code is None else str(one.exit_code)),
        ("Signal", "" if one.signal is None else str(one.signal)),
        ("Hosts", visible(listed(one.hosts))),
        ("Load", "" if one.load is None else f"{number(one.load, 2)} when it started"),
        ("Transport", visible(one.transport_evidence)),
        ("MPI reports", visible(one.chosen)),
        ("Left out", visible("; ".join(one.left_out))),
        ("Imported from", visible(one.source.path) if one.source else ""),
    ]
    return [(term, text) for term, text in facts if text]


def _siblings(name: str, campaign_state: CampaignState, attempt: Attempt) -> list[tuple[str, str]]:
    alike = [
        one
        for one in campaign_state.attempts.values()
        if one.case == attempt.case and one.block == attempt.block
    ]
    return [(str(one.attempt), run_url(name, one)) for one in alike] if len(alike) > 1 else []


def _streams(
    url: str, folder: SafeFolder, pseudonyms: Pseudonyms, *, is_live: bool, unreadable: list[str]
) -> tuple[Stream, ...]:
    found = []
    try:
        streams = find_streams(folder)
    except UnreadableFile as error:
        unreadable.append(f"The folder of the run cannot be read: {error.strerror}.")
        return ()
    for name, stream in streams.items():
        try:
            chunk = read_chunk(stream, pseudonyms=pseudonyms, is_live=is_live)
        except FileNotFoundError:  # it was removed after the listing
            continue
        except OSError as error:
            unreadable.append(f"{visible(name)} cannot be read: {error.strerror}.")
            continue
        address = quote(name, safe="")
        found.append(Stream(name, chunk, f"/api{url}/log/{address}", f"{url}/file/{address}"))
    return tuple(found)


def _commands(folder: SafeFolder, pseudonyms: Pseudonyms, unreadable: list[str]) -> list[Command]:
    try:
        return read_commands(folder, pseudonyms)
    except UnreadableFile as error:
        unreadable.append(f"Its commands cannot be read: {error.strerror}.")
        return []


def _figures(attempt: Attempt) -> list[tuple[str, str, str]]:
    return [
        (
            words(series.fom),
            " · ".join(coordinate(name, value) for name, value in one.at.items()),
            quantity(one.value, series.unit),
        )
        for series in attempt.series
        for one in series.measurements()
    ]


def _environment(
    folder: Path, attempt: Attempt, pseudonyms: Pseudonyms, unreadable: list[str]
) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Return the facts of each host; the attempt's environment file is looked up among those that exist."""
    try:
        names = {one.name for one in SafeFolder(folder, "environments").files("*.json")}
        if f"{attempt.environment}.json" not in names:
            return []
        found = PseudonymousView(pseudonyms).signed(read_environment(folder, str(attempt.environment)))
    except (CampaignError, UnreadableFile) as error:
        unreadable.append(f"Its environment cannot be read: {visible(pseudonyms.text(str(error)))}.")
        return []
    return [
        (visible(host), tuple((words(name), visible(text)) for name, text in facts.items()))
        for host, facts in found.items()
    ]
