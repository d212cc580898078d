"""What differed between the sessions of a campaign is told: clocks, hosts, versions of Tare."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from report.designs import LATER, change, text_of
from tare.core.campaign import Campaign, Session
from truth.campaigns import Truth, campaign


def test_a_level_added_later_is_reported_with_its_session_and_what_was_made_again() -> None:
    text = text_of(campaign(LATER))
    assert "The runs were made in 2 sessions: session 1, 2001-09-09 01:46 to 01:58 UTC" in text
    assert "Between them lay 23 h 48 min." in text
    assert "1 case first ran in a later session (2): c." in text
    assert "6 runs that had come out well were made once more in a later session" in text
    assert "6 blocks, of which 0 have measured runs of all their cases, made together." in text
    assert "one session," not in text
    assert "No measured run was made twice" not in text


def test_cases_that_were_added_later_are_named_with_what_their_numbers_count() -> None:
    truth = Truth(factors={"network": ("a", "b"), "nodes": (1, 8)}, late=("nodes", 8))
    assert "2 cases first ran in a later session (2): a · 8 nodes; b · 8 nodes." in text_of(campaign(truth))


def test_a_clock_that_was_set_between_sessions_is_reported() -> None:
    found = change(
        campaign(LATER),
        lambda index, one: msgspec.structs.replace(
            one, started_at=(one.started_at or 0) - (200_000 if one.session == 2 else 0)
        ),
    )
    text = text_of(found)
    assert "that was set between them, and how long lay between is not known" in text
    assert "at a time" not in text
    assert "before the one before it had begun" not in text


def recorded(found: Campaign, facts: Callable[[int, str], dict[str, str]]) -> Campaign:
    """Return a campaign whose hosts n1 and n2 are recorded in each session as `facts` say."""
    attempts = change(
        found,
        lambda _, one: msgspec.structs.replace(one, hosts=["n1", "n2"], environment=f"e{one.session}"),
    )
    environments = {
        f"e{session}": {host: facts(session, host) for host in ("n1", "n2")} for session in (1, 2)
    }
    return msgspec.structs.replace(attempts, environments=environments)


def test_hosts_that_were_used_first_in_a_later_session_are_reported() -> None:
    def on(hosts: dict[int, list[str]]) -> str:
        return text_of(
            change(campaign(LATER), lambda _, one: msgspec.structs.replace(one, hosts=hosts[one.session]))
        )

    told = "Session 2 used a host that session 1 did not: n2."
    assert told in on({1: ["n1"], 2: ["n2"]})
    assert told in on({1: ["n1"], 2: ["n1", "n2"]})
    assert "used" not in on({1: ["n1", "n2"], 2: ["n1"]}), "fewer hosts are no others"
    assert "used" not in on({1: [], 2: ["n1"]}), "of session 1 nothing tells"
    assert "host" not in text_of(campaign(LATER))


def test_what_changed_of_a_host_between_sessions_is_reported_with_its_values() -> None:
    kernels = recorded(
        campaign(LATER), lambda session, host: {"kernel.release": f"6.{session}", "cpu.cores": "64"}
    )
    assert (
        "Between sessions 1 and 2 changed what was recorded of 2 hosts: "
        "kernel.release (from 6.1 to 6.2)." in text_of(kernels)
    )
    one_of_two = recorded(
        campaign(LATER), lambda session, host: {"cpu.governor": "x" if host == "n1" else str(session)}
    )
    assert "changed what was recorded of 1 host: cpu.governor (from 1 to 2)." in text_of(one_of_two)
    unlike = recorded(campaign(LATER), lambda session, host: {"serial": f"{host} {session}"})
    assert "changed what was recorded of 2 hosts: serial." in text_of(unlike)


def test_hosts_that_did_not_change_are_not_stated_to_have_changed() -> None:
    """A newer version records more; or a case ran on another host, which is no change of either."""
    newer = recorded(campaign(LATER), lambda session, host: {str(number): "x" for number in range(session)})
    assert "what was recorded" not in text_of(newer)
    moved = change(
        recorded(campaign(LATER), lambda session, host: {"serial": host}),
        lambda _, one: msgspec.structs.replace(one, environment=f"n{one.session}"),
    )
    environments = {f"n{session}": {f"n{session}": {"serial": f"n{session}"}} for session in (1, 2)}
    assert "what was recorded" not in text_of(msgspec.structs.replace(moved, environments=environments))


def test_versions_of_tare_are_reported_where_they_differ() -> None:
    def by(*versions: str) -> str:
        sessions = tuple(
            Session(number=number, began_at=1e9, tare=tare) for number, tare in enumerate(versions, 1)
        )
        return text_of(msgspec.structs.replace(campaign(LATER), sessions=sessions))

    told = "Their versions of Tare differ: session 1 by 0.1.0 and session 2 by 0.2.0."
    assert told in by("0.1.0", "0.2.0")
    assert "version" not in by("0.2.0", "0.2.0")
    assert "version" not in by("", "0.2.0")


def test_an_unpaired_comparison_that_was_asked_for_is_reported_beside_what_is_paired() -> None:
    paired = "Only runs of one block and one session are paired"
    assert f"{paired}." in text_of(campaign(LATER))
    asked = text_of(msgspec.structs.replace(campaign(LATER), is_unpaired=True))
    assert f"{paired}; what did not run together is compared unpaired, as was asked for." in asked


def test_jobs_that_ran_on_in_the_next_session_are_no_clock_that_was_set() -> None:
    """A job of session 1 was in flight for a day, and taken over by session 2."""
    found = campaign(LATER)
    last = max(index for index, one in enumerate(found.attempts) if one.session == 1)
    text = text_of(
        change(
            found,
            lambda index, one: msgspec.structs.replace(one, elapsed_s=90_000.0) if index == last else one,
        )
    )
    assert "runs of one were still under way when the next began" in text
    assert "is not known" not in text
