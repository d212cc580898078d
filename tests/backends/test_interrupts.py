from __future__ import annotations

import signal
import threading

import pytest

from tare.core.interrupts import TERMINATION_SIGNALS, handled_as_interrupts, interrupts_deferred


def interrupted(done: list[str], error: Exception | None = None) -> None:
    with interrupts_deferred():
        signal.raise_signal(signal.SIGINT)
        done.append("all of it")
        if error:
            raise error


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(done)
    assert done == ["all of it"]


def test_an_interrupt_is_not_lost_where_the_block_fails() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted([], ValueError())
    assert isinstance(caught.value.__context__, ValueError)


def twice_interrupted(number: signal.Signals, done: list[str]) -> None:
    with interrupts_deferred():
        handler = signal.getsignal(number)
        with interrupts_deferred():
            signal.raise_signal(number)
            assert signal.getsignal(number) is handler
            done.append("the inner block")
        done.append("the outer block")


@pytest.mark.parametrize("number", TERMINATION_SIGNALS)
def test_each_signal_that_is_handled_as_an_interrupt_waits_too(number: signal.Signals) -> None:
    """It needs no other handler then: the first of them is delivered at the end, in any block."""
    done: list[str] = []
    before = signal.signal(number, signal.SIG_DFL)  # a shell's background jobs begin with two of them ignored
    try:
        with handled_as_interrupts():
            handler = signal.getsignal(number)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
            with pytest.raises(KeyboardInterrupt):
                twice_interrupted(number, done)
            assert signal.getsignal(number) is handler
        assert done == ["the inner block", "the outer block"]
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with handled_as_interrupts(), interrupts_deferred():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_handlers_are_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interrupts_deferred():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_thread_that_takes_no_signals_runs_its_block_as_it_is() -> None:
    done = []

    def work() -> None:
        with interrupts_deferred():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
