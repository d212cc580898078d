"""The programs of a campaign: their digests, their compilers, and the libraries that they load.

`ldd` uses the program's own loader, so its output is what a rank loads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tare.plugins.collectors.source import Facts, Records, Source, one_line

_LIBRARY = re.compile(r"\s*(\S+) => (/.*) \(0x[0-9a-f]+\)")
_STATIC = ("statically linked", "not a dynamic executable", "Not a valid dynamic program")  # glibc, musl
_DIGITS = 16  # of a SHA-256: enough to tell files apart


def _read(records: Records) -> Facts:
    pairs = (line.split(maxsplit=1) for line in records.get("digests", "").splitlines())
    digests = {path: digest for digest, path in pairs}
    facts: Facts = {}
    libraries: dict[str, set[str]] = {}
    for record, text in records.items():
        kind, _, program = record.partition(" ")
        if kind != "program":
            continue
        name = f"program.{program.rsplit('/', 1)[-1]}"
        path, *lines = text.splitlines()
        facts[f"{name}.path"] = path
        facts[f"{name}.sha256"] = digests.get(path, "")
        facts[f"{name}.compiler"] = "; ".join(sorted(records.get(f"compiler {program}", "").splitlines()))
        facts[f"{name}.interpreter"] = interpreter = one_line(records.get(f"interpreter {program}", ""))
        if not interpreter and any(words in text for words in _STATIC):
            facts[f"{name}.linked"] = "statically"
        for library, found in _libraries(lines):
            libraries.setdefault(library, set()).add(_digested(found, digests))
    return facts | {f"library.{name}": "; ".join(sorted(found)) for name, found in libraries.items()}


def _libraries(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each shared library in ldd(1)'s output, with its file."""
    for line in lines:
        found = _LIBRARY.match(line)
        if "not found" in line:
            yield line.split()[0], "not found"
        elif found:
            yield found[1], found[2]


def _digested(path: str, digests: Mapping[str, str]) -> str:
    digest = digests.get(path, "")[:_DIGITS]
    return f"{path} sha256:{digest}" if digest else path


SOURCE = Source(
    "programs",
    """
PATH="${path:+$path:}$PATH"
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$library_path"
intel='Intel\\(R\\) [A-Za-z0-9()+/ ]*Compiler( [0-9.]+|[A-Za-z0-9() ]*, Version [0-9.]+)?'
compilers="GCC: \\([^)]*\\) [0-9.]+|clang version [0-9.]+|$intel"
seen=
for program in $programs; do
  path=$(command -v "$program") && [ -f "$path" ] || continue
  libraries=$(limit ldd "$path" 2>&1)
  record "program $program"
  printf '%s\\n%s\\n' "$path" "$libraries"
  record "compiler $program"
  grep -a -o -E "$compilers" "$path" | sort -u | head -3
  record "interpreter $program"
  head -c 200 "$path" | sed -n '1s/^#! *//p'
  files=$(printf '%s\\n' "$libraries" | sed -n 's/.* => \\(.*\\) (0x.*/\\1/p')
  seen=$(printf '%s\\n' "$seen" "$path" "$files")
done
record digests
printf '%s\\n' "$seen" | sort -u | while read -r file; do [ -f "$file" ] && sha256sum "$file"; done
""",
    _read,
    order=110,
)
