"""Python's search for cycles pauses while cases are made, and goes on afterwards."""

from __future__ import annotations

import gc

import pytest

from tare.core.collection import no_collection


def test_the_search_pauses_and_goes_on_even_after_an_error() -> None:
    @no_collection()
    def fail() -> None:
        assert not gc.isenabled()
        raise ValueError("wrong")

    assert gc.isenabled()
    with pytest.raises(ValueError, match="wrong"):
        fail()
    assert gc.isenabled()


def test_a_program_that_does_without_the_search_keeps_doing_so() -> None:
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
