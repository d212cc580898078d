"""Read the settings of an elbencho run, from CSV columns, the `config` in JSON, or the command line in text.

The settings are returned by the name of the workload's parameter. In text output they are known only from the
command line, which only result files (--resfile) contain. A setting that is not on the command line is left
out, except for flags: the absence of a flag means false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from tare.core.values import Scalar
from tare.plugins.workloads.common.heads import unknown_heads

_MOST_DIGITS = 15
_COUNTS = {
    "hosts": "nodes",
    "threads": "threads",
    "files": "files",
    "file size": "size",
    "block size": "block",
    "IO depth": "iodepth",
}
_FLAGS = {"direct IO": "direct", "random": "random"}
"""Columns of CSV and the names of parameters; JSON spells some of the columns differently."""
_JSON_NAMES = {"file size": "file_size", "block size": "block_size", "IO depth": "io_depth",
               "direct IO": "direct_io", "random": "random_offsets"}  # fmt: skip
_VALUES = {
    "--threads": "threads", "-t": "threads", "--files": "files", "-N": "files",
    "--size": "size", "-s": "size", "--block": "block", "-b": "block", "--iodepth": "iodepth",
}  # fmt: skip
_SIZES = frozenset({"size", "block", "files"})
_SIZE = re.compile(r"([0-9]{1,15})([kmgtp]?)", re.IGNORECASE)
_POWERS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
"""Powers of 2 for each unit; units are powers of 1024 (UnitTk.cpp: numHumanToBytes)."""
_PHASES = frozenset(
    {
        *("MKDIRS", "MKBUCKETS", "WRITE", "READ", "RMFILES", "RMOBJECTS", "RMDIRS", "RMBUCKETS", "SYNC"),
        *("DROPCACHE", "STAT", "HEADOBJ", "STATDIRS", "LISTOBJ", "LISTOBJ_P", "MULTIDEL", "PUTOBJACL"),
        *("GETOBJACL", "PUTBACL", "GETBACL", "MPUCOMPL", "GETOBJMD", "PUTOBJMD", "DELOBJMD"),
        *("GETBUCKETMD", "PUTBUCKETMD", "DELBUCKETMD"),
    }
)
"""The names of phases (Common.h, PHASENAME_…)."""
_WORD = re.compile(r'"([^"]*)"|([^\s"]+)')
_OF_OTHERS = frozenset({"--configfile", "-c", "--hostsfile", "--numhosts", "--numservers"})
"""With these options, the hosts are not (only) those of --hosts on the command line."""


def is_damaged_phase(name: str) -> bool:
    """Return whether `name` is what is left of the name of a phase."""
    return any(
        one.meant or any(phase.startswith(one.name) for phase in _PHASES)
        for one in unknown_heads([name] if name else [], _PHASES, ())
    )


def csv_facts(row: Mapping[str, str]) -> Iterator[tuple[str, Scalar]]:
    """Yield the settings of a run from a row of CSV, by the name of the parameter."""
    yield from _facts(row, {name: name for name in (*_COUNTS, *_FLAGS)})


def json_facts(config: Mapping[str, str | int | float | None]) -> Iterator[tuple[str, Scalar]]:
    """Yield the settings of a run from the `config` of a phase, where numbers and flags may be strings."""
    texts = {
        name: str(value).lower().replace("true", "1").replace("false", "0") for name, value in config.items()
    }
    yield from _facts(texts, {name: _JSON_NAMES.get(name, name) for name in (*_COUNTS, *_FLAGS)})


def _facts(row: Mapping[str, str], spelt: Mapping[str, str]) -> Iterator[tuple[str, Scalar]]:
    for column, name in _COUNTS.items():
        text = row.get(spelt[column], "")
        if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS:
            yield name, int(text)
    for column, name in _FLAGS.items():
        if (text := row.get(spelt[column], "")) in {"0", "1"}:
            yield name, text == "1"
    if version := row.get("version"):
        yield "program_version", version


def command_facts(line: str) -> dict[str, Scalar]:
    """Return the settings of a run from its command line.

    `nodes` is the number of distinct host names in --hosts, and 1 without it. With --configfile, the absence
    of a flag means nothing, so only the options on the command line are returned.
    """
    words = [
        match[1] if match[1] is not None else match[2] for match in _WORD.finditer(line.partition(": ")[2])
    ]
    options = _options(words[1:])
    facts: dict[str, Scalar] = {}
    for option, name in _VALUES.items():
        if (value := options.get(option)) is not None and (number := _number(value, name)) is not None:
            facts[name] = number
    is_all = options.keys().isdisjoint({"--configfile", "-c"})
    if is_all or "--direct" in options:
        facts["direct"] = "--direct" in options
    if is_all or "--rand" in options:
        facts["random"] = "--rand" in options
    if options.keys().isdisjoint(_OF_OTHERS) and (nodes := _n_hosts(options.get("--hosts", ""))):
        facts["nodes"] = nodes
    return facts


def _options(words: list[str]) -> dict[str, str]:
    """Return the options in `words`, each with the word after it or the text after its ``=``."""
    found: dict[str, str] = {}
    for word, following in pairwise([*words, ""]):
        if word.startswith("-"):
            name, sign, value = word.partition("=")
            found[name] = value if sign else following
    return found


def _number(text: str, name: str) -> int | None:
    match = _SIZE.fullmatch(text)
    if match is None or (match[2] and name not in _SIZES):
        return None
    return int(match[1]) << _POWERS[match[2].lower()]


def _n_hosts(text: str) -> int | None:
    """Return the number of hosts in a list; None if the list contains ranges; 1 if it is empty."""
    if "[" in text:
        return None
    names = {name.partition(":")[0] for name in re.split(r"[,\s]+", text) if name}
    return len(names) or 1
