"""What `tare plan --show` prints starts exactly what `tare run` starts, whatever is in it.

A recorder in the place of the program keeps its arguments and environment as the kernel has them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.conftest import Tare
from tare.cli import shell_text
from tare.core.launch import Invocation

RECORDER = f"""\
#!{sys.executable} -IS
import os
for name, kept in (("cmdline", "argv"), ("environ", "environ")):
    with open(f"/proc/self/{{name}}", "rb") as source:
        with open(os.path.join(os.path.dirname(__file__), kept), "wb") as target:
            target.write(source.read())
print("value: 1")
"""
HOSTILE = (
    "it's",
    'say "hi"',
    "$(touch pwned)",
    "`touch pwned`",
    "two\nlines\n",
    "\n\n\n",
    "x\n; touch pwned\n#",
    "",
    " ",
    "a\\b\\n\\0101",
    "*",
    "-x",
    "--",
    "~",
    "A=b",
    "µ\u202e\x1b[2J\x07\r\t",
    "%s%b\\",
    "END\n",
    "!!",
    "long" * 20_000,
)
SHELLS = [shell for shell in ("sh", "bash") if shutil.which(shell)]
TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=20)
WORDS = st.one_of(st.sampled_from(HOSTILE), TEXT, st.text("'\"\\$`\n (){};&|<>#~*?!=-%END01", max_size=12))
NAMES = st.one_of(
    st.sampled_from(["IFS", "PATH", "OPTIND", "UID", "ENV", "PWD", "_", "LC_ALL", "A", "BASH_ENV"]),
    st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,8}\Z"),
)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorder") / "recorder"
    path.write_text(RECORDER)
    path.chmod(0o755)
    return path


def recorded(recorder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the arguments and the environment of the last start."""
    argv, environ = (
        recorder.with_name(name).read_bytes().decode(errors="surrogateescape").split("\0")[:-1]
        for name in ("argv", "environ")
    )
    return argv[3:], dict(one.split("=", 1) for one in environ)


def run_text(text: str, folder: Path, shell: str = "sh") -> None:
    script = folder.parent / "shown.sh"
    script.write_text(text, errors="surrogateescape")
    subprocess.run([shell, str(script)], cwd=folder, check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(WORDS, max_size=4), env=st.dictionaries(NAMES, WORDS, max_size=4))
def test_the_text_starts_these_words_with_these_variables(
    recorder: Path, tmp_path: Path, shell: str, words: list[str], env: dict[str, str]
) -> None:
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], **env} if "PATH" not in env else {**env, "PATH": os.environ["PATH"]}
    run_text(shell_text.command(Invocation(argv=(str(recorder), *words), env=env)), folder, shell)
    argv, environ = recorded(recorder)
    assert argv == words
    assert {name: environ[name] for name in env} == env
    assert list(folder.iterdir()) == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    contents=st.dictionaries(
        st.sampled_from(["a", "b/c.txt", "-x", "d e/'f'", "./g", "$(h)"]),
        st.one_of(
            WORDS, st.lists(WORDS | st.just("END"), max_size=4).map("\n".join), TEXT.map("{}\n".format)
        ),
    )
)
def test_the_text_writes_these_files_byte_for_byte(tmp_path: Path, contents: dict[str, str]) -> None:
    folder = tmp_path / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run_text("\n".join(shell_text.files(contents)), folder)
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == {os.path.normpath(name): text.encode() for name, text in contents.items()}


@given(text=TEXT | st.sampled_from(HOSTILE))
def test_nothing_that_a_terminal_would_not_show_is_in_the_text(text: str) -> None:
    shown = (shell_text.quote(text), shell_text.comment(text), *shell_text.files({"f": text}))
    assert all("".join(one.split("\n")).isprintable() for one in shown)
    assert "\n" not in shell_text.comment(text)


def test_a_program_that_is_called_like_a_word_of_the_shell_is_started(tmp_path: Path) -> None:
    for name in ("echo", "test", "[", "if", "A=b", "-x", "time"):
        program = tmp_path / name
        program.write_text('#!/bin/sh\nprintf %s "$1" >"$2"\n')
        program.chmod(0o755)
        for env in ({}, {"LC_X": "1"}):
            place = tmp_path / "said"
            text = shell_text.command(Invocation(argv=(name, "it was me", str(place)), env=env))
            subprocess.run(["/bin/sh"], input=text, text=True, env={"PATH": f"{tmp_path}:/bin:/usr/bin"})
            assert place.read_text() == "it was me", (name, env)
            place.unlink()


def test_what_is_shown_is_what_runs(tare_here: Tare, recorder: Path, tmp_path: Path) -> None:
    words = [one.replace("{", "") for one in HOSTILE if one]
    study = {
        "study": "hostile",
        "factors": {"workload": [{"say": {"text": "x\ntouch pwned\n\x1b[2J"}}]},
        "repeats": 1,
        "workloads": {
            "say": {
                "command": [str(recorder), "{text}", *words],
                "env": {f"HOSTILE_{number}": one for number, one in enumerate(words[:-1])},
                "files": {"in/put": "END\ntouch pwned\n", "odd": "\x1b[2J", "END": "cat <<'END'\nEND"},
                "parameters": {"text": "x"},
                "foms": [{"name": "value", "unit": "s", "better": "lower", "regex": "value: (.*)"}],
            }
        },
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    ended = tare_here("run", tmp_path / "study.yaml", "--out", tmp_path / "c")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    argv, environ = recorded(recorder)
    shown = tare_here("plan", tmp_path / "study.yaml", "--show")
    assert shown.returncode == 0, shown.stderr
    folder = tmp_path / "by-hand"
    folder.mkdir()
    run_text(shown.stdout, folder)
    by_hand, environ_by_hand = recorded(recorder)
    assert by_hand == argv
    own = [name for name in environ if name.startswith(("HOSTILE_", "OMP_"))]
    assert [environ_by_hand[name] for name in own] == [environ[name] for name in own]
    (attempt,) = (tmp_path / "c" / "attempts").glob("*/1.1")
    for name in ("in/put", "odd", "END"):
        assert (folder / name).read_bytes() == (attempt / name).read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["END", "in", "odd"]


@pytest.mark.parametrize("name", ["A;touch x;B", "a b", "A=B", "1A", "", "A\nB", "a.b", "$(id)"])
def test_a_variable_that_no_shell_can_hold_is_refused_in_its_place(
    tare_here: Tare, tmp_path: Path, name: str
) -> None:
    say = {"command": ["true"], "foms": [{"name": "v", "unit": "s", "better": "lower", "regex": "(.)"}]}
    study = {
        "study": "s",
        "factors": {"workload": ["say"]},
        "workloads": {"say": {**say, "env": {name: "x"}}},
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    shown = tare_here("plan", tmp_path / "study.yaml", "--show")
    assert shown.returncode == 2
    assert "study.yaml:1:" in shown.stderr
    assert "cannot name a variable" in shown.stderr


@pytest.mark.parametrize("place", ["command", "env", "files", "parameters"])
def test_a_nul_is_refused_in_its_place(tare_here: Tare, tmp_path: Path, place: str) -> None:
    say: dict[str, object] = {
        "command": ["true"],
        "foms": [{"name": "v", "unit": "s", "better": "lower", "regex": "(.)"}],
    }
    say[place] = ["a\0b"] if place == "command" else {"x": "a\0b"}
    study = {"study": "s", "factors": {"workload": ["say"]}, "workloads": {"say": say}}
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    shown = tare_here("plan", tmp_path / "study.yaml", "--show")
    assert shown.returncode == 2
    assert "study.yaml:1:" in shown.stderr
    assert "NUL" in shown.stderr
