"""Hide what looks like a secret in commands, environments and output, before others see them.

Secrets are recognised by their form:

- tokens of well-known makers, private keys, and passwords in URLs
- the value after an option or name that usually has a secret
- long words in which letters and digits alternate as if drawn by chance

Hashes in hexadecimal, versions, paths, masks of CPUs and lists of hosts stay. A secret without such a form
stays too.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

HIDDEN = "(hidden)"

WELL_KNOWN = (
    "^(A[KS]IA|AIza|ya29[.]|pypi-AgE|[rs]k_live_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|hf_|eyJ)"
)
"""The beginnings of tokens of well-known makers; the last one is that of JSON Web Tokens."""

_NAME = (
    r"(?:[\w.-]{0,60}[_.-])?(?:\w{0,20}passw(?:or)?d|\w{0,20}passphrase|pwd|passwd|secret|token|jwt|credentials?|cookie|psk|pat|"
    r"(?:api|access|secret|private|auth|account|encryption|signing|license)[_-]?key|\w{0,20}apikey|key)"
    r"(?:[_-](?:key|id|file))?"
)
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_KEY = re.compile(
    r"(?:-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?|\A[A-Za-z0-9+/=\s]*)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----)"
    r"|-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*\Z",
    re.DOTALL,
)
"""A private key, or the rest of one where a piece of output begins or ends within it."""
_URL = re.compile(r"(://[^\s/:@'\"]{0,80}:)[^\s'\"]{0,400}(@)")
_BEARER = re.compile(
    r"(\b(?:authorization\s*[:=]\s*)?(?:bearer|basic)\s+)(?=\S*[\d=_.-])[\w.~+/=-]{8,}", re.IGNORECASE
)
_HEADER = re.compile(
    r"(\bauthorization\s*:\s*(?:\w+\s+)?|\bx-[\w-]*(?:key|token)\s*:\s*)[^\s'\"]+", re.IGNORECASE
)
_ASSIGNED = re.compile(
    rf"(?<![\w.$-])(-{{0,2}}{_NAME}[\"']?(?:\s*=\s*|:\s*))(\"[^\"\n]*\"?|'[^'\n]*'?|[^\s,;&'\"]+)",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"(?<!\S)(--?{_NAME}\s+)(?!-)(\"[^\"\n]*\"?|'[^'\n]*'?|\S+)", re.IGNORECASE)
_USER = re.compile(
    r"(\b(?:curl|wget|http|https)\s[^\n|;]{0,200}?(?<=\s)(?:-u|--user|-U|--proxy-user)"
    r"[ =]?['\"]?[^\s:'\"]{1,80}:)[^\s'\"]+"
)
_SSHPASS = re.compile(r"(\bsshpass\s+-p\s*)(\"[^\"\n]*\"?|'[^'\n]*'?|\S+)")
_MYSQL = re.compile(
    r"(\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\s(?:[^\n|;]{0,200}?\s)?-p)"
    r"([^\s'\"]+|'[^'\n]*'?|\"[^\"\n]*\"?)"
)
_TOKEN = re.compile(rf"(?<![\w-]){WELL_KNOWN[1:]}[\w.-]{{12,}}")
_LONG = re.compile(r"(?<![\w+/.-])(?<!sha256:)(?<!SHA256:)(?<!sha512-)[A-Za-z0-9+/_-]{24,}={0,2}(?![\w.])")
_PLACE = re.compile(r"[/~$({<]|\(hidden\)|\d{1,6}$|(?:true|false|yes|no|none|null|env)$", re.IGNORECASE)
"""Values that are not secrets, or their beginnings: paths, placeholders, numbers and simple words."""

_BARE = re.compile(r"[\"']?key[\"']?:\s*", re.IGNORECASE)
_LIKE_A_KEY = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[^.]{12,}")
"""In a manifest, ``key: rank.sh`` is a name, while ``key: ccf56aa3b9383ffa`` is a secret."""

_SHORTEST, _AWS_LENGTH = 24, 40  # the secret keys of AWS may hold slashes
_LEAST_ENTROPY = 3.8
_LEAST_CHANGES, _LEAST_OF_AWS = 0.42, 0.34
_SIGN = re.compile(r"[_-]")
_LONGEST_OF_NAMES = 12
"""The length of a part between ``_`` or ``-`` from which it may be a secret.

Parts of file names are shorter, as in ``fio_randwrite_1GB_4k_d1_th1_direct``.
"""
_MOST_PARTS = 4
"""The most parts of a word with slashes that is not a path."""


def redact_text(text: str) -> str:
    """Return `text`, which may have many lines, without what looks like a secret."""
    text = _KEY.sub(HIDDEN, text)
    text = _URL.sub(rf"\g<1>{HIDDEN}\g<2>", text)
    for pattern in (_SSHPASS, _MYSQL, _USER, _HEADER, _BEARER):
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    for pattern in (_ASSIGNED, _OPTION):
        text = pattern.sub(_hide_value, text)
    text = _TOKEN.sub(HIDDEN, text)
    return _LONG.sub(_hide_random, text)


def redact_words(argv: Sequence[str]) -> list[str]:
    """Return the words of a command without what looks like a secret, such as the value of an option."""
    return [*_redacted_words(tuple(argv))]


@functools.lru_cache(maxsize=256)
def _redacted_words(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Do so; each run of a case has the same commands as the one before."""
    shown: list[str] = []
    for word in argv:
        before = shown[-1] if shown else ""
        named = before.lstrip("-") if before.startswith("-") else ""
        if named and _SECRET_NAME.fullmatch(named) and not word.startswith("-") and not _PLACE.match(word):
            shown.append(HIDDEN)
        elif (
            before in {"-u", "--user", "-U", "--proxy-user"}
            and _calls(shown, "curl", "wget", "http")
            and re.fullmatch(r"[^\s:/]+:[^\s:/]+", word)
        ):
            shown.append(f"{word.partition(':')[0]}:{HIDDEN}")
        elif before == "-p" and _calls(shown[-2:-1], "sshpass"):
            shown.append(HIDDEN)
        elif re.match(r"-[pu]\S", word) and (hidden := _of_program(word, shown)):
            shown.append(hidden)
        else:
            shown.append(redact_text(word))
    return (*shown,)


def redact_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables without values that look like a secret; the names stay."""
    return {
        name: HIDDEN
        if _SECRET_NAME.fullmatch(name) and value and not _PLACE.match(value)
        else redact_text(value)
        for name, value in env.items()
    }


def _of_program(word: str, before: Sequence[str]) -> str:
    """Return an option such as ``-pPASSWORD`` with its password hidden; empty if the program has none."""
    if word.startswith("-p") and _calls(before, "mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass"):
        return f"-p{HIDDEN}"
    if word.startswith("-u") and ":" in word and _calls(before, "curl", "wget"):
        return f"{word.partition(':')[0]}:{HIDDEN}"
    return ""


def _calls(before: Sequence[str], *programs: str) -> bool:
    return any(one.rpartition("/")[2] in programs for one in before)


def _hide_value(found: re.Match[str]) -> str:
    value = found[2].strip("\"'")
    is_plain = (
        not value or _PLACE.match(value) or (_BARE.fullmatch(found[1]) and not _LIKE_A_KEY.match(value))
    )
    return found[0] if is_plain else f"{found[1]}{HIDDEN}"


def _hide_random(found: re.Match[str]) -> str:
    """Return a long word with its random parts hidden; in a path, only those parts."""
    word = found[0]
    if "/" not in word or _is_random(word):
        return HIDDEN if _is_random(word) else word
    return "/".join(HIDDEN if _is_random(part) else part for part in word.split("/"))


def _is_random(word: str) -> bool:
    """Return whether a word looks random, by its entropy and how often characters change kind.

    Names of files and jobs consist of words between ``_`` and ``-``, and change kind there: those characters
    do not count.
    """
    word = word.rstrip("=")
    if len(word) < _SHORTEST or max(map(len, _SIGN.split(word))) < _LONGEST_OF_NAMES:
        return False
    parts = word.split("/")
    is_aws = len(word) == _AWS_LENGTH and len(parts) <= _MOST_PARTS and bool(parts[0])
    if len(parts) > 1 and not is_aws and not _is_base64(word, parts):
        return False
    kinds = _kinds(word)
    if not {"a", "A", "0"} <= set(kinds):
        return False
    counts = Counter(word.replace("/", "")).values()
    n = sum(counts)
    entropy = -sum(one / n * math.log2(one / n) for one in counts)
    return entropy >= _LEAST_ENTROPY and _changes(kinds) >= (_LEAST_OF_AWS if is_aws else _LEAST_CHANGES)


def _is_base64(word: str, parts: Sequence[str]) -> bool:
    """Return whether a word with slashes may be base64 (RFC 4648, 4) rather than a path of words."""
    is_plain = bool(parts[0]) and not _SIGN.search(word)
    is_rare = len(parts) <= max(_MOST_PARTS - 1, len(word) / 10)
    return is_plain and is_rare and all(_changes(_kinds(one)) >= 0.3 for one in parts if len(one) > 5)


def _kinds(word: str) -> str:
    return "".join(
        "a" if one.islower() else "A" if one.isupper() else "0" if one.isdigit() else "-" for one in word
    )


def _changes(kinds: str) -> float:
    pairs = [(one, other) for one, other in pairwise(kinds) if "-" not in (one, other)]
    return sum(one != other for one, other in pairs) / max(len(pairs), 1)
