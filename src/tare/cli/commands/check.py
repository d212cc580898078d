"""`tare check`: check the rules that a campaign must keep, for CI pipelines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from tare.cli.commands.compare import read_reference
from tare.cli.options import mean_option, unpaired_option
from tare.core.comparison import Mean
from tare.core.errors import UsageError, not_written
from tare.core.user_files import replacing
from tare.terminal.output import echo, json_fields, json_option, print_json, print_table

if TYPE_CHECKING:
    from tare.analysis.checking.check import Check, CheckedComparison, Undecided
    from tare.analysis.checking.rules import Rule
    from tare.core.campaign import Campaign

_CODE_QUALITY = "gl-code-quality-report.json"
_EPILOG = """\b
Exit codes:
  0  every rule passes, or is undecided and undecided rules may pass
  1  a rule fails; or is undecided, with --undecided fail; or runs are missing, with --require-complete
  2  a rule cannot be read, or matches nothing
  3  the campaign cannot be read"""


class _CheckSettings(NamedTuple):
    """The settings of a check, from the options and the rules file; options take precedence.

    `undecided_by` says where it stands what undecided rules count as.
    """

    rules: list[Rule]
    undecided: Undecided
    undecided_by: str
    family: str
    requires_complete: bool


@click.command(epilog=_EPILOG)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--fail-if", "fail_if", multiple=True, metavar="RULE", help="Fail if this is shown.")
@click.option("--pass-if", "pass_if", multiple=True, metavar="RULE", help="Fail if the opposite is shown.")
@click.option(
    "--rules", "rules_file", type=click.Path(path_type=Path), metavar="FILE", help="More rules, in YAML."
)
@click.option(
    "--undecided",
    type=click.Choice(["pass", "warn", "fail"]),
    help="What an undecided rule counts as; default: warn, which passes with a message.",
)
@click.option(
    "--require-complete", is_flag=True, help="Also fail if planned runs failed, are invalid or missing."
)
@click.option(
    "--family",
    type=click.Choice(["check", "rule"]),
    help="Limit false alarms over the whole check (default), or for each rule, which decides sooner.",
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="KEY=VALUE",
    help="Compare with this instead of the study's reference.",
)
@unpaired_option
@mean_option
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write JUnit XML.")
@click.option(
    "--summary",
    metavar="github|gitlab|FILE",
    help=f"Write a job summary and annotations for GitHub, {_CODE_QUALITY} for GitLab, or Markdown.",
)
@json_option
def command(
    folder: Path,
    fail_if: tuple[str, ...],
    pass_if: tuple[str, ...],
    rules_file: Path | None,
    undecided: str | None,
    require_complete: bool,
    family: str | None,
    references: tuple[str, ...],
    unpaired: bool,
    mean: str,
    junit: Path | None,
    summary: str | None,
    as_json: bool,
) -> int:
    """Check that the campaign in DIR keeps its rules, for CI pipelines.

    A rule fails only if the whole interval is beyond the limit, and passes only if the whole interval is
    within it. Otherwise it is undecided. A rule that matches several cases is checked for each.

    \b
      overhead(network=overlay) > 5 %         how much worse than the reference
      ratio(latency, network=overlay) > 1.05  contender / reference; for a rate, below 1 is worse
      value(latency, bytes=8) > 2.5 us        the figure itself, in any unit of its kind
      p90(latency_p99, bytes=8) > 40 us       90 % of the runs are below it; also median
      cv(network=overlay) > 3 %               variation between blocks; cv_ratio: relative to the reference
      efficiency(nodes=16) < 70 %             parallel efficiency relative to the smallest common scale
    \b
    Between the brackets: a figure of merit, settings and coordinates such as network=overlay,
    nodes=2|4, bytes=64KiB. Rules are joined by and, or, not. See docs/check.md.

    \b
    Examples:
      tare check campaigns/demo --fail-if 'overhead(network=overlay) > 5 %'
      tare check campaigns/demo --rules rules.yaml --junit check.xml --summary github
      tare check campaigns/demo --pass-if 'overhead(network=macvlan) < 10 %' --undecided fail
    """
    from tare.analysis.checking.check import RuleFamily, check
    from tare.storage.pseudonymous import PseudonymousView, read_shown

    settings = _settings(fail_if, pass_if, rules_file, undecided, family, require_complete=require_complete)
    campaign = msgspec.structs.replace(read_shown(folder), is_unpaired=unpaired, mean=Mean(mean))
    found = check(
        campaign,
        PseudonymousView(campaign.pseudonyms).signed(settings.rules),
        reference=read_reference(campaign, [*map(campaign.pseudonyms.only, references)])
        if references
        else None,
        family=RuleFamily(settings.family),
        requires_complete=settings.requires_complete,
    )
    if junit is not None:
        from tare.report.checks.junit import junit_xml

        _write(junit, junit_xml(found, settings.undecided))
    if summary is not None:
        _summarise(found, settings.undecided, summary, folder)
    if as_json:
        from tare.cli.caveats import doubts_body

        doubts = doubts_body(campaign, _judged_cases(found))
        print_json("tare.check/1", _body(found, settings.undecided) | {"doubts": doubts})
    else:
        _print(found, campaign, settings)
    return 1 if found.is_failed(settings.undecided) else 0


def _settings(
    fail_if: tuple[str, ...],
    pass_if: tuple[str, ...],
    rules_file: Path | None,
    undecided: str | None,
    family: str | None,
    *,
    require_complete: bool,
) -> _CheckSettings:
    from tare.analysis.checking.check import Undecided
    from tare.analysis.checking.rule_parser import parse_rules
    from tare.analysis.checking.rules import Kind, RuleSource

    origin = "--undecided" if undecided else "the default; see --undecided"
    sources = [RuleSource(text=text, kind=Kind.FAIL_IF, where="--fail-if") for text in fail_if]
    sources += [RuleSource(text=text, kind=Kind.PASS_IF, where="--pass-if") for text in pass_if]
    if rules_file is not None:
        from tare.config.rules_file import load_rules

        file = load_rules(rules_file)
        sources = [*file.sources, *sources]
        if file.undecided and not undecided:
            undecided, origin = file.undecided, f"{rules_file} says so; see --undecided"
        family = family or file.family
        require_complete = require_complete or file.requires_complete
    if not sources and not require_complete:
        raise UsageError(
            "nothing to check; give a rule, such as --fail-if 'overhead(network=overlay) > 5 %', or a file "
            "of them with --rules"
        )
    return _CheckSettings(
        parse_rules(sources), Undecided(undecided or "warn"), origin, family or "check", require_complete
    )


def _print(found: Check, campaign: Campaign, settings: _CheckSettings) -> None:
    from tare.analysis.checking.check import Outcome
    from tare.cli.caveats import print_doubts
    from tare.report.checks.words import headline, judging_words
    from tare.report.words.mean_cost import averaged_words, misasked_words

    for verdict in found.verdicts:
        rule = verdict.rule
        name = f"{rule.name}: " if rule.name != rule.text else ""
        echo(f"{verdict.outcome.sign} {verdict.outcome}  {name}{rule.words}")
        print_table(
            ("case", "measured", "in compare", "limit", "n", "verdict", "why"),
            [_row(one, found) for one in verdict.judged],
            frozenset({"limit", "n"}),
        )
        echo()
    if not found.completeness.is_complete or found.requires_complete:
        echo(f"{found.completeness}; see 'tare status {campaign.folder}'.")
    echo(judging_words(found))
    ratios = [one for verdict in found.verdicts for one in verdict.judged if one.function in _RATIOS]
    sentences = (
        averaged_words(campaign.mean),
        misasked_words(campaign.mean, [one.match.better for one in ratios]),
    )
    for line in filter(None, (*found.notes, *(sentences if ratios else ()))):
        echo(line)
    print_doubts(campaign, _judged_cases(found))
    echo(headline(found))
    if found.outcome is Outcome.UNDECIDED:
        echo(f"tare: undecided rules count as {settings.undecided} ({settings.undecided_by})", err=True)


def _judged_cases(found: Check) -> set[str]:
    """Return the cases whose values the rules judge."""
    judged = [one for verdict in found.verdicts for one in verdict.judged if one.value is not None]
    return {case for one in judged for case in (one.match.case, one.match.beside) if case is not None}


_RATIOS = ("ratio", "overhead")


def _row(one: CheckedComparison, found: Check) -> tuple[str, ...]:
    from tare.report.checks.words import case_words, in_compare, limit_words, measured_words, why_words

    return (
        case_words(one),
        measured_words(one),
        in_compare(one),
        limit_words(one),
        str(one.n_blocks),
        f"{one.outcome.sign} {one.outcome}{' (unpaired)' if one.match.note.startswith('unpaired') else ''}",
        why_words(one, found.confidence),
    )


def _summarise(found: Check, undecided: Undecided, target: str, folder: Path) -> None:
    from tare.report.checks.code_quality import code_quality_json
    from tare.report.checks.summary import check_markdown, github_annotations

    if target == "gitlab":
        path = Path(os.environ.get("CI_PROJECT_DIR", ".")) / _CODE_QUALITY
        _write(path, code_quality_json(found, undecided, str(folder / "study.yaml")))
    elif target == "github":
        file = os.environ.get("GITHUB_STEP_SUMMARY")
        if not file:
            raise UsageError(
                "--summary github: GITHUB_STEP_SUMMARY is not set; run it in a step of GitHub Actions, or "
                "give a file"
            )
        _write(Path(file), check_markdown(found), is_added=True)  # steps of a job share the file
        for annotation in github_annotations(found, undecided):
            echo(annotation, err=True)
    else:
        _write(Path(target), check_markdown(found))


def _write(path: Path, text: str, *, is_added: bool = False) -> None:
    try:
        with path.open("ab") if is_added else replacing(path) as file:
            file.write(text.encode(errors="replace"))
    except OSError as error:
        raise not_written(path, error, "choose another file") from error


def _body(found: Check, undecided: Undecided) -> dict[str, object]:
    accounting = found.completeness
    return json_fields(
        found,
        *("verdicts", "completeness", "requires_complete"),
        undecided_counts_as=undecided,
        is_failed=found.is_failed(undecided),
        is_complete=accounting.is_complete,
        n_planned=accounting.n_planned,
        counts={state: n for state, n in accounting.counts.items() if n},
        rules=[
            {
                "name": verdict.rule.name,
                "kind": verdict.rule.kind,
                "rule": verdict.rule.text,
                "outcome": verdict.outcome,
                "comparisons": [_comparison(one) for one in verdict.judged],
            }
            for verdict in found.verdicts
        ],
    )


def _comparison(one: CheckedComparison) -> dict[str, object]:
    change, change_low, change_high = one.change
    return json_fields(
        one,
        *("match", "text", "has_verdict"),
        call=one.text,
        case=one.match.case,
        fom=one.match.fom,
        at=one.match.at,
        reference=one.match.reference,
        unit=one.unit if one.function == "value" else "1",
        change=change,
        change_low=change_low,
        change_high=change_high,
    )
