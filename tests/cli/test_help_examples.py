"""Each example of a help text is a call that works: options, figures, levels and files are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.conftest import call_tare_here
from support.synthetic import write_campaign
from tare.app import planning
from tare.cli.main import make_group
from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign

ROOT = Path(__file__).parents[2]
CONTINUED = re.compile(r" \\\n +")


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, click.Context(inner, info_name=name, parent=context))


def examples() -> list[str]:
    """Return the calls of tare in all help texts, without what a shell or a reader does with them."""
    group = make_group()
    helps = [one.help or "" for one, _ in commands(group, click.Context(group, info_name="tare"))]
    lines = [
        line for text in helps for line in re.findall(r"^ +(.*\btare .*)$", CONTINUED.sub(" ", text), re.M)
    ]
    return list(dict.fromkeys(call for line in lines for call in calls(re.split(r"\s{3,}", line.strip())[0])))


def calls(line: str) -> Iterator[str]:
    """Yield the calls of tare in a line for a shell."""
    words: list[str] = []
    for word in [*shlex.split(line), ";"]:
        if word in {"|", "&&", ">", ";"}:
            if "tare" in words[:1] or words[:1] == ["ssh"]:
                yield shlex.join(words[words.index("tare") :])
            words = []
        else:
            words.append(word)


EXAMPLES = examples()


def test_there_are_many_examples() -> None:
    assert len(EXAMPLES) > 70


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_has_options_and_arguments_that_there_are(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(example)[1:]
    for word in words:  # what it names is there
        if re.fullmatch(r"[\w/.-]+\.(yaml|csv|json|out|log|html)|allowed_signers", word):
            Path(word).parent.mkdir(parents=True, exist_ok=True)
            Path(word).touch()
        elif word.startswith("campaigns/") or word == "theirs":
            Path(word.partition(":")[0]).mkdir(parents=True, exist_ok=True)
        elif word.startswith("~"):
            monkeypatch.setenv("HOME", str(tmp_path))
    command: click.Command = make_group()
    context = click.Context(command, info_name="tare")
    while isinstance(command, click.Group):
        inner = command.get_command(context, words.pop(0))
        assert inner is not None
        command, context = inner, click.Context(inner, info_name=inner.name, parent=context)
    if "--key" not in words:  # a file of the reader
        with command.make_context(str(command.name), words, parent=context.parent):
            pass  # its end closes the log that -v opens


@pytest.mark.parametrize("example", [one for one in EXAMPLES if "studies/" in one and "ours" not in one])
def test_a_study_of_an_example_is_in_the_repository(example: str) -> None:
    named = [word for word in shlex.split(example) if word.startswith("studies/")]
    assert all((ROOT / one).is_file() for one in named)


READING = {"status", "compare", "check", "report", "export", "plan", "verify"}
ELSEWHERE = ("--calibration", "telemetry.", "studies/")
"""What examples name that the demo of this test has not: another campaign, telemetry, the repository."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `campaigns/demo`: the plan of studies/demo.yaml, with values of nobody."""
    folder = tmp_path_factory.mktemp("examples")
    loaded = planning.load(ROOT / "studies" / "demo.yaml", 5)
    plan = loaded.plan
    attempts = [
        Attempt(
            case=case.id,
            block=block,
            attempt=1,
            state=State.DONE,
            started_at=1e9 + block,
            elapsed_s=1.0,
            exit_code=0,
            hosts=["n1", "n2"],
            series=[
                Series(
                    fom=fom.name,
                    unit=fom.unit,
                    better=fom.better,
                    values=[10.0 + block / 100 + index for index in range(2 if fom.by else 1)],
                    at={name: [8, 65536] for name in fom.by},
                )
                for fom in plan.foms[case.workload]
            ],
        )
        for block in range(1, 6)
        for case in plan.order(block)
    ]
    orders = {block: [case.id for case in plan.order(block)] for block in range(1, 6)}
    campaign = Campaign(folder=folder, plan=plan, attempts=tuple(attempts), orders=orders)
    write_campaign(campaign, folder / "campaigns" / "demo")
    for name, text in loaded.texts.items():
        (folder / "campaigns" / "demo" / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    "example",
    [
        one
        for one in EXAMPLES
        if "campaigns/demo" in one.split()
        and one.split()[1] in READING
        and not any(map(one.__contains__, ELSEWHERE))
    ],
)
def test_an_example_on_the_demo_works_on_it(
    example: str, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [word for word in shlex.split(example)[1:] if word != "--open"]
    if "rules.yaml" in words:
        (demo / "rules.yaml").write_text("rules: [{fail_if: overhead(network=overlay) > 5 %}]\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(demo / "summary.md"))
    done = call_tare_here(*words, cwd=demo)
    assert done.returncode in (0, 1), done.stderr
    assert "tare:" not in done.stderr.replace("tare: undecided rules", "")


def test_no_list_of_commands_is_cut_off() -> None:
    group = make_group()
    for one, context in commands(group, click.Context(group, info_name="tare", terminal_width=80)):
        if isinstance(one, click.Group):
            listed = one.get_help(context).partition("Commands:")[2]
            assert "..." not in listed, listed
