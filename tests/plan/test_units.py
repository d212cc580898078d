"""Quantities as people write them."""

from __future__ import annotations

import pytest

from tare.core.units import (
    Dimension,
    format_bytes,
    format_seconds,
    parse_bytes,
    parse_quantity,
    whole_number,
    write_bytes,
)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("64KiB", Dimension.BYTES, 65536),
        ("1 MB", Dimension.BYTES, 1e6),
        ("4Mi", Dimension.BYTES, 4 * 2**20),
        ("120 s", Dimension.SECONDS, 120),
        ("1.5 h", Dimension.SECONDS, 5400),
        ("250ms", Dimension.SECONDS, 0.25),
        ("2 %", Dimension.FRACTION, 0.02),
        (0.02, Dimension.FRACTION, 0.02),
        ("1 Gbit/s", Dimension.BITS_PER_SECOND, 1e9),
        ("400 node-hours", Dimension.NODE_HOURS, 400),
    ],
)
def test_a_quantity_is_read_in_its_unit(text: str | float, dimension: Dimension, value: float) -> None:
    assert parse_quantity(text, dimension) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "fast", "12 parsecs", "1e999 s", "--3 s", True, float("nan")])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="120 s"):
        parse_quantity(text, Dimension.SECONDS)


def test_half_a_byte_is_refused() -> None:
    with pytest.raises(ValueError, match="not a whole number of bytes"):
        parse_bytes("0.5 B")


_SIZES = [("64KiB", 65536), ("1536KiB", 1536 << 10), ("1000", 1000), ("0", 0)]


@pytest.mark.parametrize(("text", "count"), _SIZES)
def test_a_size_is_written_so_that_it_is_read_back(text: str, count: int) -> None:
    assert write_bytes(count) == text
    assert parse_bytes(text) == count


def test_sizes_and_durations_are_written_as_people_say_them() -> None:
    assert [format_bytes(size) for size in (1, 1024, 65536, 4 << 20)] == ["1 B", "1 KiB", "64 KiB", "4 MiB"]
    spans = (0.0042, 4.24, 75, 600, 3600, 4320)
    written = ["4.2 ms", "4.2 s", "1 min 15 s", "10 min", "1 h", "1 h 12 min"]
    assert [format_seconds(seconds) for seconds in spans] == written


@pytest.mark.parametrize("text", ["9" * 100_000 + "\0 x", "1" * 50_000 + ".x y", " " * 100_000 + "x y"])
def test_a_text_of_any_length_is_refused_as_soon_as_it_is_read(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):  # once it took hours: cubic in its length
        parse_quantity(text, Dimension.BYTES)


@pytest.mark.parametrize("text", ["", "²", "٣", "-1", "+1", "1_0", " 1", "1.0", "9" * 19, "9" * 5000])
def test_other_words_are_no_whole_numbers(text: str) -> None:
    assert whole_number(text) is None
    assert whole_number("0017") == 17
