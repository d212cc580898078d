"""How files are damaged or forged: bytes, numbers, units, lines, and the alphabet they are written in."""

from __future__ import annotations

import random
import re

MOST_BYTES = 400_000
"""No input is longer; a line of this length shows what takes quadratic time."""

_NUMBER = re.compile(rb"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(rb"[A-Za-z/%]+")
_NUMBERS = (
    b"0", b"-1", b"1e309", b"1e-400", b"1e400", b"nan", b"-nan", b"inf", b"-inf", b"Infinity", b"1_000",
    b"1,234,567", b"1 234", b"1.2.3", b"0x10", b"00012", b"1.", b".5", b"+7", b"-", b"", b"*****",
    b"9" * 40, b"9" * 5000, b"2147483648", b"18446744073709551616", b"1e", b"0.0", b"true", b"null",
    "²".encode(), "٣٤".encode(), "１２".encode(), "−5".encode(),
)  # fmt: skip
"""What may stand where a number stood: `int` refuses more than 4300 digits, and ² though it is a digit."""
_UNITS = (
    b"KB", b"KiB", b"MB", b"MiB", b"GB", b"GiB", b"TB", b"us", b"usec", b"ms", b"msec", b"ns", b"nsec",
    b"s", b"sec", b"B/s", b"KB/s", b"MB/s", b"MiB/s", b"GB/s", b"Kbits/sec", b"Mbits/sec", b"Gbits/sec",
    b"Gb/sec", b"Mbit/s", b"%", b"h", b"min", b"k", b"m", b"M", b"G",
)  # fmt: skip
_PIECES: tuple[bytes, ...] = (
    b"\xff",
    b"\0",
    b"\n",
    b'"',
    b"{",
    b"}",
    b"[",
    b"[" * 50,
    b"]",
    b":",
    b"*a",
    b"&a ",
    b",",
    b" ",
)
_PIECES += (
    b"|",
    b"\r",
    b"\x1b[31m",
    b"\x1e",
    b"\xe2\x80\xae",
    b"\xef\xbb\xbf",
    b"\\",
    b"'",
    b"=",
    b"-",
    b"#",
)


def changed(data: bytes, chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """Return `data` after one to six changes."""
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        ways = (_byte, _piece, _other, _cut, _number, _number, _unit, _lines, _lines, _alphabet)
        data = chance.choice(ways)(data, chance, seeds)[:MOST_BYTES]
    return data


def _byte(data: bytes, chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    at = chance.randrange(len(data) + 1)
    flipped = bytes((data[at] ^ 1 << chance.randrange(8),)) if at < len(data) else b""
    return data[:at] + flipped + data[at + 1 :]


def _piece(data: bytes, chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """Put a sign that formats are made of somewhere, or in place of a few bytes."""
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(_PIECES) + data[at + chance.randrange(4) :]


def _other(data: bytes, chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """Take a part out, double it, or put one of another example there."""
    at, length = chance.randrange(len(data) + 1), chance.choice((1, 2, 8, 64, 1024))
    part = data[at : at + length]
    match chance.randrange(3):
        case 0:
            return data[:at] + data[at + length :]
        case 1:
            return data[:at] + part + data[at:]
        case _:
            other = chance.choice(seeds)
            start = chance.randrange(len(other) + 1)
            return data[:at] + other[start : start + length] + data[at:]


def _cut(data: bytes, chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """Cut the end off, in the middle of a number where there is one with two digits."""
    found = [one for one in _some(_NUMBER, data, chance) if len(one[0]) > 1]
    at = chance.randrange(found[0].start() + 1, found[0].end()) if found else chance.randrange(len(data) + 1)
    return data[:at]


def _number(data: bytes, chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """Write something else where a number stands, or change one digit of it."""
    for one in _some(_NUMBER, data, chance):
        if chance.random() < 0.3:
            at = chance.randrange(*one.span())
            return data[:at] + chance.choice((b"0", b"1", b"9", b"-", b".", b"e", b",")) + data[at + 1 :]
        return data[: one.start()] + chance.choice(_NUMBERS) + data[one.end() :]
    return data + chance.choice(_NUMBERS)


def _unit(data: bytes, chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """Write another unit, or another word of the same text, where a word stands."""
    words = _some(_WORD, data, chance)
    units = [one for one in words if one[0] in _UNITS]
    for one in units or words:
        said = chance.choice(_UNITS) if units or chance.random() < 0.3 else chance.choice(words)[0]
        return data[: one.start()] + said + data[one.end() :]
    return data


def _lines(data: bytes, chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """Lose, double, swap or mix lines or blocks of them, or put a huge one among them."""
    lines = data.splitlines(keepends=True) or [b"\n"]
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    length = chance.choice((1, 1, 1, 3, 20))
    match chance.randrange(7):
        case 0:
            del lines[one : one + length]
        case 1:
            lines[other:other] = lines[one : one + length]
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case 3:
            lines[one : one + 2] = reversed(lines[one : one + 2])
        case 4:
            lines[one:one] = chance.choice(seeds).splitlines(keepends=True)[:length]
        case 5 if chance.random() < 0.2:
            piece = chance.choice(
                (b"9", b" ", b"-", b"1 ", b"a", b"=", b"[", b"\t", b"1.", b",", lines[one].strip())
            )
            lines.insert(
                one, piece * min(20_000, 200_000 // max(len(piece), 1)) + chance.choice((b"\n", b"x\n"))
            )
        case _:
            chance.shuffle(lines) if chance.random() < 0.1 else lines.insert(one, data)
    return b"".join(lines)


def _alphabet(data: bytes, chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """Write all of it as another system would."""
    match chance.randrange(6):
        case 0:
            return data.replace(b"\n", b"\r\n")
        case 1:
            return data.replace(b"\n", b"\r")
        case 2:
            return b"\xef\xbb\xbf" + data
        case 3:
            return data.replace(b".", b",") if chance.random() < 0.5 else data.replace(b" ", b"\xc2\xa0")
        case 4:
            return data.decode("utf-8", "replace").encode("utf-16")
        case _:
            return data.replace(b"\n", b"\0\n") if chance.random() < 0.5 else data.rstrip(b"\n")


def _some(pattern: re.Pattern[bytes], data: bytes, chance: random.Random) -> list[re.Match[bytes]]:
    """Return matches near some place, in any order: all of a long text would take long to find."""
    start = chance.randrange(len(data) + 1)
    found = [*pattern.finditer(data, start, start + 2000)] or [*pattern.finditer(data, 0, 2000)]
    chance.shuffle(found)
    return found
