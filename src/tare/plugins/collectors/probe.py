"""Query a node's facts with one shell script, and parse its output.

The node needs only a POSIX shell. The script takes a fraction of a second. It runs between measurements,
never during one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from tare.plugins.collectors.secrets import AWK, redact
from tare.plugins.collectors.source import Answers, Facts, Source, Subject
from tare.probes.records import BEGIN_RECORD

FUNCTIONS = f"""\
{BEGIN_RECORD}files() {{ for f do [ -f "$f" ] && [ -r "$f" ] && record "$f" && cat "$f"; done; }}
limit() {{ if command -v timeout >/dev/null; then timeout 10 "$@"; else "$@"; fi; }}
told() {{ name=$1; shift; text=$(limit "$@" </dev/null) && record "$name" && printf '%s\\n' "$text"; }}
hide() {{ awk '{AWK}{{ print hide($0) }}'; }}
"""
"""Shell functions for the scripts of sources; ``hide`` does what `secrets.redact` does."""

_END = "end of "
_FAILED = "not recorded."


def probe_script(sources: Sequence[Source], subject: Subject) -> str:
    """Return the script that queries a node for everything that `sources` read about `subject`."""
    return "".join(
        [
            FUNCTIONS,
            f"prefix={shlex.quote(subject.prefix)}\n",
            f"starter={shlex.quote(subject.starter)}\n",
            f"programs={shlex.quote(' '.join(subject.programs))}\n",
            f"path={shlex.quote(subject.path)}\n",
            f"library_path={shlex.quote(subject.library_path)}\n",
            *(_guarded(source) for source in sources),
        ]
    )


def _guarded(source: Source) -> str:
    """Return a source's script in a subshell, so that a failing source does not stop later ones."""
    return f"(\n{source.script.strip()}\n) 2>/dev/null\nrecord {shlex.quote(_END + source.name)}; echo\n"


def read_facts(sources: Sequence[Source], answers: Answers) -> Facts:
    """Return the facts in one node's `answers`. A failing source is recorded and does not stop the others."""
    found: Facts = {}
    for source, own in _by_source(sources, answers):
        try:
            found |= {redact(name): redact(value) for name, value in source.read(own).items() if value}
        except Exception as error:  # a node may answer anything; other sources remain valid
            found[_FAILED + source.name] = f"{type(error).__name__}: {redact(str(error))}"
    return found


def _by_source(sources: Sequence[Source], answers: Answers) -> Iterator[tuple[Source, Answers]]:
    """Yield each source with its records, which stand between the previous source's end and its own."""
    by_end = {_END + source.name: source for source in sources}
    own: dict[str, str] = {}
    for name, text in answers.items():
        if name in by_end:
            yield by_end[name], own
            own = {}
        else:
            own[name] = text
