"""What is said about causes, in campaigns whose truth is known."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from report.studies import HOSTILE
from support.curves import Wire, curves_campaign, joined
from support.profiled import BASE, profiled_campaign, with_more
from support.synthetic import make_case
from tare.analysis.causes.attribution import attributions
from tare.analysis.verdicts.compare import aggregates
from tare.cli.commands import report
from tare.cli.commands.why import command
from tare.cli.comparison_table import print_comparisons
from tare.core.attribution import Cause, CauseKind
from tare.core.campaign import Campaign
from tare.core.interval import Bounded
from tare.report.charts.painting import Painter
from tare.report.content import content
from tare.report.report_statistics import ReportStatistics
from tare.report.section import SectionText
from tare.report.variants import lay_out
from tare.report.words.causes import cause_sentence, cause_words
from tare.report.words.silences import silence
from tare.storage.campaign import read_campaign
from tare.terminal.output import plain

_TEXTS = {".html", ".svg", ".csv", ".md", ".tex"}
_KEYS = (("MPI_Alltoall", 4096), ("computation", 0))
_SLOWER = with_more(with_more(BASE, ("MPI_Alltoall", 4096), 3.2), ("computation", 0), 0.8)


def _sentences(campaign: Campaign) -> list[str]:
    variants = lay_out(campaign, ())
    return [plain(cause_sentence(one, variants)) for one in attributions(campaign)]


def test_the_sentence_names_the_change_its_causes_and_what_a_call_costs(tmp_path: Path) -> None:
    (text,) = _sentences(profiled_campaign(tmp_path, BASE, _SLOWER))
    assert text.startswith("overlay makes synthetic.program on 2 nodes take 40 % [39, 41] longer")
    assert " longer from MPI_Init to MPI_Finalize in profiled runs: 80 % [" in text
    assert "of that is MPI_Alltoall of up to 4 KiB (49.8 → 367 µs each)" in text
    assert "% [19, 23] computation" in text


def test_a_faster_contender_takes_less_time(tmp_path: Path) -> None:
    (text,) = _sentences(profiled_campaign(tmp_path, _SLOWER, BASE))
    assert "less time from MPI_Init to MPI_Finalize in profiled runs: " in text
    assert "[" in text


def test_compare_says_that_its_runs_are_not_those_of_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = profiled_campaign(tmp_path, BASE, _SLOWER)
    words = "All are of runs without the profile. 'tare why' judges profiled runs, and may find otherwise."
    print_comparisons(campaign, aggregates(campaign), campaign.plan.reference)
    assert words in capsys.readouterr().out
    plain_runs = msgspec.structs.replace(
        campaign,
        attempts=tuple(one for one in campaign.attempts if not one.is_profiled),
        profiled_attempts=(),
    )
    print_comparisons(plain_runs, aggregates(plain_runs), campaign.plan.reference)
    assert "profile" not in capsys.readouterr().out


@pytest.mark.parametrize(("is_faster", "word"), [(False, "less"), (True, "more")])
def test_a_part_that_goes_the_other_way_is_named_as_it_goes(
    tmp_path: Path, is_faster: bool, word: str
) -> None:
    messages, computation = (with_more(BASE, key, 3.2 - 2.4 * at) for at, key in enumerate(_KEYS))
    sides = (messages, computation) if is_faster else (computation, messages)
    (text,) = _sentences(profiled_campaign(tmp_path, *sides))
    assert ("less time" if is_faster else "longer") in text
    assert re.search(rf"of that is MPI_Alltoall .*, {word} time in computation makes up for 3\d %", text), (
        text
    )


def test_a_large_unexplained_part_is_said(tmp_path: Path) -> None:
    (text,) = _sentences(profiled_campaign(tmp_path, BASE, BASE, uncovered_s=3.0))
    assert "is not explained by the profile" in text


def test_nothing_is_said_of_a_difference_that_is_undecided(tmp_path: Path) -> None:
    spoken = [
        _sentences(profiled_campaign(tmp_path / str(seed), BASE, BASE, seed=seed)) for seed in range(40)
    ]
    assert sum(bool(text) for (text,) in spoken) <= 6  # 5 %: more happen in less than 1 % of cases


def test_nothing_is_said_where_runs_without_the_profile_do_not_differ(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, _SLOWER)
    alike = tuple(
        one if one.is_profiled else msgspec.structs.replace(one, elapsed_s=10 + 0.1 * (one.block % 2))
        for one in campaign.attempts
    )
    assert _sentences(msgspec.structs.replace(campaign, attempts=alike)) == [""]


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Bounded(0.81, 0.74, 0.88), "81 % [74, 88] of that is computation"),
        (Bounded(0.81, 0.2, 1.4), "between 20 % and 140 % of that is computation"),
        (Bounded(0.81), "an unknown part of that is computation"),
    ],
)
def test_a_share_that_its_interval_does_not_support_is_not_quoted(
    tmp_path: Path, share: Bounded, text: str
) -> None:
    campaign = profiled_campaign(tmp_path, BASE, _SLOWER)
    (one,) = attributions(campaign)
    own = [
        msgspec.structs.replace(cause, share=share, is_certain=True)
        for cause in one.causes
        if cause.kind is CauseKind.COMPUTATION
    ]
    said = plain(cause_sentence(msgspec.structs.replace(one, causes=tuple(own)), lay_out(campaign, ())))
    assert said.endswith(text)


def test_a_change_that_is_hardly_known_is_given_by_its_ends(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, _SLOWER)
    (one,) = attributions(campaign)
    for ratio, text in ((Bounded(1.59, 1.11, 2.29), "longer"), (Bounded(0.63, 0.44, 0.9), "less time")):
        said = plain(cause_sentence(msgspec.structs.replace(one, ratio=ratio), lay_out(campaign, ())))
        ends = "between 11 % and 129 %" if text == "longer" else "between 10 % and 56 %"
        assert f"take {ends} {text} from MPI_Init" in said


@pytest.mark.parametrize(
    ("least", "most", "text"),
    [
        (5, 8, "of up to 8 B"),
        (0, 0, "without data"),
        (1025, 8192, "of 2 to 8 KiB"),
        (513, 8192, "of 1 to 8 KiB"),
    ],
)
def test_sizes_are_named_by_the_bounds_of_their_classes(least: int, most: int, text: str) -> None:
    cause = Cause(
        kind=CauseKind.FUNCTION,
        name="MPI_Alltoall",
        least_bytes=least,
        most_bytes=most,
        reference_s=1.0,
        contender_s=2.0,
        difference_s=Bounded(1.0),
        share=Bounded(1.0),
    )
    assert plain(cause_words(cause)) == f"MPI_Alltoall {text}"


def test_the_report_has_the_sentence_and_parts_that_sum_to_the_difference(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, _SLOWER)
    found = content(campaign, ReportStatistics.of(campaign))
    (section,) = [one for one in found.sections if one.section.name == "causes"]
    assert isinstance(section.part, SectionText)
    assert section.heading == "Why?"
    assert "MPI_Alltoall" in section.part.sentences[0].text
    assert section.part.tables[0].rows[-1][0].text == "Together"
    priced = plain(section.part.tables[0].caption).partition("Profiled runs took × ")[2]
    assert re.fullmatch(r"1\.00 \[\S+, \S+\] against those without the profile", priced), priced


def test_the_command_prints_the_sentence_and_json_has_the_parts(tmp_path: Path) -> None:
    profiled_campaign(tmp_path / "demo", BASE, _SLOWER)
    shown = CliRunner().invoke(command, [str(tmp_path / "demo")])
    assert shown.exit_code == 0, shown.output
    assert "overlay makes synthetic.program" in shown.output
    found = msgspec.json.decode(CliRunner().invoke(command, [str(tmp_path / "demo"), "--json"]).stdout_bytes)
    assert found["schema"] == "tare.why/1"
    parts = found["differences"][0]["attribution"]["parts"]
    assert sum(one["share"]["value"] for one in parts) == pytest.approx(1)


def test_charts_show_the_parts_and_what_latency_and_bandwidth_cost(tmp_path: Path) -> None:
    wires = {"host": Wire(10e-6, 1e9), "overlay": Wire(60e-6, 2e8)}
    campaign = joined(profiled_campaign(tmp_path, BASE, _SLOWER), curves_campaign(wires))
    found = content(campaign, ReportStatistics.of(campaign), painter=Painter())
    figures = {one.name: one for one in found.figures}
    assert {"why", "tolerance", "tolerance-bandwidth"} <= figures.keys()
    slowest, *_, own = figures["tolerance-bandwidth"].panels[0].lines[0].points
    assert slowest.y > 1.5
    assert own.y == pytest.approx(1, abs=0.001), "with the bandwidth that it has"


def test_names_of_parts_leave_room_for_bars_on_a_phone(tmp_path: Path) -> None:
    base = {**BASE, ("MPI_Reduce_scatter_block", 1 << 17): 1.0}
    slower = with_more(base, ("MPI_Reduce_scatter_block", 1 << 17), 4.0)
    campaign = profiled_campaign(tmp_path, base, slower)
    found = content(campaign, ReportStatistics.of(campaign), painter=Painter())
    (figure,) = [one for one in found.figures if one.name == "why"]
    spec = msgspec.json.decode(figure.joint)
    names = [row["part"] for rows in spec["datasets"].values() for row in rows]
    assert "MPI_Reduce_scatter_block" in {line for one in names for line in one.split("\n")}
    assert max(len(line) for one in names for line in one.split("\n")) <= 24
    assert "MPI_Reduce_scatter_block of up to 128" in plain(figure.panels[0].lines[0].points[0].at)


def test_a_campaign_without_profiles_says_how_to_make_them(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path / "demo", BASE, BASE)
    assert read_campaign(tmp_path / "demo").profiled()
    for one in campaign.attempts:
        if one.is_profiled:
            (tmp_path / "demo" / one.folder / "profile.json").unlink()
    shown = CliRunner().invoke(command, [str(tmp_path / "demo")])
    assert "no profile, because the run left no profile.json" in shown.output


def test_a_hostile_profile_forges_nothing(tmp_path: Path) -> None:
    """A campaign that came by mail may name functions, files and hosts as it likes."""
    folder = tmp_path / "demo"
    profiled_campaign(folder, BASE, _SLOWER)
    for path in folder.glob("**/profile.json"):
        found = msgspec.json.decode(path.read_bytes())
        for row in found["functions"]:
            row["function"] = HOSTILE if row["function"] == "MPI_Alltoall" else row["function"]
        found["files"][0] |= {"operation": HOSTILE, "file_system": "=cmd()"}
        found["nodes"] = [f"{name}{HOSTILE}" for name in found["nodes"]]
        path.write_bytes(msgspec.json.encode(found))
    formats = [word for name in ("html", "csv", "markdown", "latex") for word in ("--format", name)]
    made = CliRunner().invoke(report.command, [str(folder), *formats])
    assert made.exit_code == 0, made.output
    page = (folder / "report/index.html").read_text()
    assert "alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
    shown = CliRunner().invoke(command, [str(folder)])
    assert shown.exit_code == 0, shown.output
    assert "alert(1)" in shown.output
    written = [
        path.read_text()
        for path in (folder / "report").glob("**/*")
        if path.is_file() and path.suffix in _TEXTS
    ]
    for text in (page, shown.output, *written):
        assert not {"\x1b", "\u202e"} & set(text)


def test_runs_without_the_profile_that_differ_the_other_way_are_said(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, _SLOWER)
    turned = tuple(
        one if one.is_profiled else msgspec.structs.replace(one, elapsed_s=30 - one.elapsed_s)
        for one in campaign.attempts
    )
    (one,) = attributions(msgspec.structs.replace(campaign, attempts=turned))
    assert silence(one) == "runs without the profile differ the other way, so nothing is attributed"


def test_pairs_of_which_nothing_is_said_for_one_reason_share_a_sentence(tmp_path: Path) -> None:
    """A study of ten networks that cost nothing does not say so ten times; all runs stay one click away."""
    networks = ["host", *(f"net{number}" for number in range(6))]
    cases = [make_case(one, workload="synthetic.program") for one in networks]
    campaign = profiled_campaign(tmp_path, BASE, BASE, cases=cases)
    made = content(campaign, ReportStatistics.of(campaign))
    (part,) = [one.part for one in made.sections if one.section.name == "causes"]
    assert isinstance(part, SectionText)
    silent = [one for one in part.sentences if "do not differ for certain" in one.text]
    unsaid = [one for one in attributions(campaign) if not cause_sentence(one, lay_out(campaign, ()))]
    assert len(unsaid) > 4
    (said,) = silent
    assert plain(said.text).startswith("net0 · synthetic.program · 2 nodes, net1 · ")
    assert f" and {len(unsaid) - 4} more: the wall times" in said.text
    assert set(said.cases) == {one.contender_case for one in unsaid}


def _of(name: str, kind: CauseKind = CauseKind.FUNCTION) -> Cause:
    return Cause(
        kind=kind,
        name=name,
        least_bytes=0,
        most_bytes=0,
        reference_s=1.0,
        contender_s=2.0,
        difference_s=Bounded(1.0),
        share=Bounded(1.0),
    )


@pytest.mark.parametrize("name", ["MPI_Win_fence", "MPI_Waitall", "MPI_Probe", "MPI_Barrier", "MPI_Comm_dup"])
def test_calls_that_have_no_size_are_not_said_to_be_without_data(name: str) -> None:
    """The data of an MPI_Put pass in MPI_Win_fence."""
    assert plain(cause_words(_of(name))) == name


def test_calls_that_found_no_room_are_named_so() -> None:
    assert plain(cause_words(_of("other"))) == "MPI calls that found no room in the profile"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (0, "slower computation of rank 7, and waiting for it"),
        (3, "slower computation of rank 7 and 3 more, and waiting for them"),
    ],
)
def test_the_ranks_of_a_slow_node_are_counted(more: int, text: str) -> None:
    cause = msgspec.structs.replace(_of("", CauseKind.WAITING), rank=7, more_ranks=more)
    assert plain(cause_words(cause)) == text
