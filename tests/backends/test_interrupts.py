from __future__ import annotations

import signal
import threading

import pytest

from tare.core.interrupts import interrupts_deferred


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
