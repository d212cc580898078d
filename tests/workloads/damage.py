"""What happens to logs on their way, and what no parser may do then: crash, or make up a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from hypothesis import strategies as st

from tare.core.workload import Parsed

_NUMBER = re.compile(r"[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+")

NOISE = (
    "[n1:00042] UCX  WARN  transport 'tcp' is not configured\n",
    "2 more processes have sent help message help-mpi-btl-tcp.txt / dropped inbound connection\n",
    "srun: job 33869 has been allocated resources\n",
    "-------------------------------------------------------\n",
    "12 34.5 6\n",
    "note: see the manual page\n",
    "\n",
    "\0\x07\ufffd\n",
)
"""Lines of MPI, scheduler and shell that may stand between any two lines of a benchmark."""

DISGUISES = (
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "\ufeff" + text,
    lambda text: "".join(f"\x1b[32m{line}\x1b[0m\n" for line in text.splitlines()),
    lambda text: "".join(f"[pod/globe-launcher-x7/mpi] {line}\n" for line in text.splitlines()),
    lambda text: "".join(f"2026-01-02T03:04:05.6789012Z {line}\n" for line in text.splitlines()),
    lambda text: "".join(
        f"[pod/globe-launcher-x7/mpi] 2026-01-02T03:04:05.{number}+01:00 {line}\n"
        for number, line in enumerate(text.splitlines())
    ),
    lambda text: "".join(f"[03:04:05] {line}\n" for line in text.splitlines()),
    lambda text: "".join(f"bench-1  | {line}\n" for line in text.splitlines()),
    lambda text: "".join(f"Sun Nov 29 15:20:34 2026[1,0]<stdout>:{line}\n" for line in text.splitlines()),
    lambda text: "srun: job 7 has been queued\n" + "".join(f"0: {line}\n" for line in text.splitlines()),
)
"""The same text as other systems, terminals, launchers and `kubectl logs` keep it."""


def between(noise: str) -> Callable[[str], str]:
    """Return a function that puts `noise` before and after each line of a text."""
    return lambda text: noise + "".join(line + noise for line in text.splitlines(keepends=True))


MESSES = (*map(between, NOISE), *DISGUISES)
"""What may be done to a whole log without any change to what is read of it."""


def cuts(text: str, count: int = 40) -> Iterator[str]:
    """Yield `text` cut short at `count` places, most of them within a line."""
    for position in range(count):
        yield text[: len(text) * position // count]


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """Draw `text` with lines lost, doubled, swapped or garbled, and other bytes spliced in."""
    lines = text.splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 4))):
        position = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["lose", "double", "swap", "garble", "splice", "noise"])):
            case "lose":
                del lines[position : position + draw(st.integers(1, 3))]
                lines = lines or ["\n"]
            case "double":
                lines.insert(draw(st.integers(0, len(lines))), lines[position])
            case "swap":
                lines[position], lines[0] = lines[0], lines[position]
            case "garble":
                start = draw(st.integers(0, len(lines[position])))
                lines[position] = (
                    lines[position][:start] + draw(st.text(max_size=6)) + lines[position][start + 3 :]
                )
            case "splice":
                lines.insert(position, draw(st.binary(max_size=20)).decode(errors="replace"))
            case _:
                lines.insert(position, draw(st.sampled_from(NOISE)))
    return "".join(lines)


def made_up(parsed: Parsed, text: str, scales: Iterable[float] = (1.0,)) -> list[float]:
    """Return the measured values that `text` does not hold, not even in the units of `scales`."""
    plain = re.sub("\x1b\\[[0-9;]*m", "", text)
    printed = {float(word) for word in _NUMBER.findall(plain)}
    known = {one * scale for one in printed for scale in scales} | {
        one / scale for one in printed for scale in scales
    }
    return [one.value for one in parsed.measurements if one.value not in known]
