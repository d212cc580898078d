"""What comes from others steers no terminal, reorders no line and forges none, in any command."""

from __future__ import annotations

import ast
import io
import json
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from cli.conftest import TARE, call_tare_here
from report.studies import hostile
from support.synthetic import write_campaign
from tare.cli.main import main

POISON = (
    "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[8m\rforged\nFORGED: all done"
    "\x9b31m\x85\x90q\u202eevil\u2066\u200f\x7f\u2028x"
)
"""Writes the clipboard, clears the screen, hides and forges lines, by C0 and C1 controls, turns text."""

OURS = re.compile(r"\x1b\[(?:0|1|3[13]|38;5;\d+)m")
"""Reset, bold, red and yellow for faults, and the colours of verdicts (ECMA-48, 8.3.117)."""

SOURCE = Path(__file__).parents[3] / "src/tare/cli"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a hostile campaign, a hostile study, and hostile logs with hostile names."""
    place = tmp_path_factory.mktemp("poisoned")
    campaign = hostile(place / "c", POISON, (2, 4))
    write_campaign(campaign, place / "c")
    environments = place / "c" / "environments"
    environments.mkdir(exist_ok=True)
    (environments / "e.json").write_text(json.dumps(campaign.environments["e"]))
    (place / "study.yaml").write_text(json.dumps(_study()))
    (place / "faulty.yaml").write_text(json.dumps({POISON: POISON, "factors": {POISON: [POISON]}}))
    (place / "site.yaml").write_text(json.dumps({POISON: {POISON: POISON}}))
    (place / "logs").mkdir()
    for name in ("a", f"b{POISON}".replace("/", "")):
        text = f"# OSU MPI Latency Test {name}\n# Size Latency (us)\n1 {POISON}\n"
        (place / "logs" / name).write_text(text)
    return place


def _study() -> dict[str, object]:
    workload = {
        "command": ["sh", "-c", f"echo '{POISON}' >&2; exit 1", "{text}"],
        "parameters": {"text": {"default": "a"}},
        "foms": [{"name": "value", "unit": "s", "better": "lower", "regex": r"value: (\S+)"}],
    }
    return {
        "study": "poisoned",
        "question": POISON,
        "factors": {"workload": ["say"], "text": [POISON, "b"]},
        "reference": {"text": "b"},
        "repeats": 2,
        "workloads": {"say": workload},
    }


COMMANDS = (
    ("status", "c"),
    ("status", "c", "--all"),
    ("compare", "c"),
    ("compare", "c", "--all"),
    ("compare", "c", "--fom", POISON),
    ("compare", "c", "--reference", f"network={POISON}"),
    ("plan", "c"),
    ("plan", "study.yaml"),
    ("plan", "study.yaml", "--show"),
    ("plan", "faulty.yaml"),
    ("plan", f"{POISON}.yaml"),
    ("run", "faulty.yaml"),
    ("run", "study.yaml", "--out", "ran"),
    ("check", "c", "--fail-if", "overhead(nodes=2) > 5 %"),
    ("check", "c", "--fail-if", f"overhead({POISON}) > 5 %"),
    ("scaling", "c"),
    ("curves", "c"),
    ("environment", "show", "c"),
    ("environment", "show", f"c:{POISON}"),
    ("environment", "diff", "c:n1", "c:n2"),
    ("report", "c", "--format", "markdown"),
    ("verify", "c"),
    ("export", "c"),
    ("export", "c", "--format", "json"),
    ("metrics", "c", "--once"),
    ("parse", "osu.latency", "logs/a"),
    ("import", "osu.latency", "logs", "--out", "imported"),
    ("doctor", "site.yaml"),
    ("doctor", "--site", "site.yaml"),
    ("workloads", POISON),
    ("published", POISON),
    ("telemetry", "c", "logs/a"),
    (POISON,),
    ("status", f"--{POISON}"),
)
JSON = (
    ("status", "c"),
    ("compare", "c"),
    ("plan", "study.yaml"),
    ("curves", "c"),
    ("environment", "show", "c"),
    ("check", "c", "--fail-if", "overhead(nodes=2) > 5 %"),
)


class Terminal(io.TextIOWrapper):
    """Stands for a terminal."""

    def isatty(self) -> bool:
        return True


def hidden(text: str) -> set[str]:
    """Return the characters of `text` that are not seen, but for blanks and our own colours."""
    return {
        one for one in OURS.sub("", text) if not one.isprintable() and one not in "\n\t\xa0\u202f\u2009\u2007"
    }


def forged(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("forged", "FORGED"))]


def shown_at_terminal(*words: str, cwd: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what a command writes at a terminal, without a process of its own."""
    terminal = Terminal(io.BytesIO(), "utf-8", write_through=True, newline="")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with chdir(cwd), monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        patch.setattr(sys, "stderr", terminal)
        with pytest.raises(SystemExit):
            main(list(words))
    terminal.seek(0)
    return terminal.read()


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words).replace(POISON, "POISON"))
def test_nothing_hidden_comes_out_of_a_command(
    folder: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = call_tare_here(*words, cwd=folder, is_hostile=True)
    text = ended.stdout + ended.stderr
    assert "Traceback" not in text
    assert hidden(text) == set()
    assert forged(text) == [] or "--show" in words  # a shell's quotes may hold ends of lines
    if "run" not in words and "report" not in words and "TARE_PROGRAM" not in os.environ:
        terminal = shown_at_terminal(*words, cwd=folder, monkeypatch=monkeypatch)
        assert hidden(terminal) == set()
        assert forged(terminal) == [] or "--show" in words


@pytest.mark.parametrize("words", JSON, ids=" ".join)
def test_json_holds_the_very_strings_and_none_raw(folder: Path, words: tuple[str, ...]) -> None:
    text = call_tare_here(*words, "--json", cwd=folder, is_hostile=True).stdout
    assert hidden(text) == set()
    assert any(POISON in one for one in _strings(json.loads(text)))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


@pytest.mark.parametrize("words", [("compare", "c"), ("run", "study.yaml", "--out", "at-terminal")])
def test_a_real_terminal_is_written_nothing_hidden(folder: Path, words: tuple[str, ...]) -> None:
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST  # the ends of lines as they were written
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen([TARE, *words], cwd=folder, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    data = b""
    try:
        while piece := os.read(ours, 65536):
            data += piece
    except OSError:  # EIO: the last writer has closed it
        pass
    process.wait(60)
    os.close(ours)
    text = data.decode()
    for sign in (
        "\x1b]",
        "\x1b[8m",
        "\x1b[2J\x1b[8m",
        "\x9b",
        "\x85",
        "\u202e",
        "\u2066",
        "\x07",
        "\x7f",
        "\u2028",
    ):
        assert sign not in text, sign
    assert forged(text.replace("\r", "\n")) == []


def test_commands_print_through_one_module_alone() -> None:
    """Fails where a command prints raw text, past what makes it visible."""
    found = []
    for path in SOURCE.rglob("*.py"):
        if path.name == "output.py":
            continue
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        found += [f"{path.name}:{node.lineno}: {ast.unparse(node)}" for node in calls if _is_raw(node)]
    assert found == []


def _is_raw(call: ast.Call) -> bool:
    name, text = ast.unparse(call.func), ast.unparse(call)
    if name in ("print", "click.echo", "click.secho", "click.style", "click.echo_via_pager"):
        return text not in ("print(f'tare {__version__}')", "print('tare: interrupted', file=sys.stderr)")
    if name.endswith("console.print"):
        return "visible_line" not in text
    return name.startswith(("sys.stdout.", "sys.stderr.")) and ".write" in name
