"""What the sentences of a report say, read from their words and held against the truth."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from report.studies import part_of
from tare.analysis.checking.check import check
from tare.analysis.checking.rule_parser import parse_rules
from tare.analysis.checking.rules import Kind, RuleSource
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.values import Scalar
from tare.core.workload import Better
from tare.report.checks.words import why_words
from tare.report.content import Content, content
from tare.report.report_statistics import ReportStatistics
from tare.report.sections.curves import CurveTables
from tare.report.sections.methods import Methods
from tare.report.sections.overview import Overview
from tare.report.sections.scaling import Scaling
from tare.report.sections.trust import ResultQuality
from tare.report.sections.verdicts import Verdicts
from tare.report.sections.why import Activity
from tare.report.words.numbers import coordinate, words
from truth.campaigns import Figure
from truth.claimed import Asked
from truth.grammar import Clause, Grammar, Says, UnknownSentenceError
from truth.templates import is_known, kind_of, plain, sentences
from truth.wild import Wild
from truth.worded import of_words

_ROUNDING = 1e-9
_SIZES: Mapping[str, Callable[[float], bool]] = {
    "": lambda size: True,
    "up to 1 KiB": lambda size: size <= 1024,
    "from 64 KiB": lambda size: size >= 65536,
}


@dataclasses.dataclass
class Told:
    """The sentences of a campaign: how many, those that nothing reads, facts that are wrong, and claims."""

    n_sentences: int = 0
    unknown: dict[str, str] = dataclasses.field(default_factory=dict)
    wrong: list[str] = dataclasses.field(default_factory=list)
    asked: list[Asked] = dataclasses.field(default_factory=list)

    def read(self, place: str, text: str) -> Iterator[str]:
        """Yield the sentences of a text, having noted those that are not known."""
        for sentence in sentences(text):
            self.n_sentences += 1
            if not is_known(place, sentence):
                self.unknown.setdefault(f"{place}: {kind_of(sentence)}", sentence)
            yield sentence

    def expect(self, sentence: str, *, is_so: bool) -> None:
        """Note a sentence on what was done that is not so."""
        if not is_so:
            self.wrong.append(sentence)


def spoken(study: Wild, found: Campaign) -> Told:
    """Return what the report of a campaign says, sentence by sentence."""
    page = content(found, ReportStatistics.of(found))
    told = Told()
    _answers(told, study, found, page)
    _reading(told, page)
    _design(told, study, found, page)
    _rows(told, page)
    told.asked += of_words(study, found, page)
    _check(told, found)
    return told


def _rows(told: Told, page: Content) -> None:
    """Read what stands in rows and beside them."""
    quality, verdicts, activity = part_of(page, ResultQuality), page.part(Verdicts), page.part(Activity)
    curves, scaling = page.part(CurveTables), page.part(Scaling)
    texts: Sequence[tuple[str, Sequence[str]]] = (
        ("tested", [quality.warnings.tested]),
        ("doubts", [one.finding for one in quality.warnings.rows]),
        ("doubts", [one.finding for one in quality.warnings.odd_runs]),
        ("scatter", [one.verdict for one in quality.variabilities]),
        ("crossovers", [one.text for one in curves.crossovers] if curves else []),
        ("saturations", [one.reached for one in curves.saturations] if curves else []),
        ("watched", [activity.watched] if activity else []),
        ("account", [page.account.sentence]),
        ("notes", [row.cells[-1].small for row in verdicts.rows.shown] if verdicts else []),
        ("facts", [text for _, text in quality.facts]),
        ("scaling", [text for block in scaling.blocks for _, text in block.sentences] if scaling else []),
    )
    for place, found in texts:
        for text in found:
            for _ in told.read(place, text):
                pass


def _check(told: Told, found: Campaign) -> None:
    """Read why a check judged as it did."""
    rule = RuleSource(text="overhead() > 2 %", kind=Kind.FAIL_IF, where="test")
    judged = check(found, parse_rules([rule]))
    for verdict in judged.verdicts:
        for one in verdict.judged:
            for _ in told.read("check", why_words(one, judged.confidence)):
                pass


def _reading(told: Told, page: Content) -> None:
    for sentence in told.read("reading", page.reading):
        match = re.search(r"from n = (\d+)", sentence)
        if match:
            told.expect(sentence, is_so=int(match[1]) >= 3)
    overview = page.part(Overview)
    for rule in part_of(page, Methods).rules:
        for sentence in told.read("rules", rule.what):
            match = re.match(r"(\d+) (?:of \d+ )?quoted ratios? ha", sentence)
            if match:
                maps = overview.maps if overview else ()
                cells = [one for heat in maps for row in heat.rows for one in row.cells if one]
                told.expect(sentence, is_so=int(match[1]) == sum("[" in one.interval for one in cells))


def _design(told: Told, study: Wild, found: Campaign, page: Content) -> None:
    """Hold what is said of how the runs were made against the runs."""
    made: dict[tuple[str, int], list[tuple[int, State]]] = {}
    for one in found.attempts:
        made.setdefault((one.case, one.block), []).append((one.session, one.state))
    failed = sum(one.state is State.FAILED for one in found.attempts)
    again = sum(
        sum(state is State.DONE for _, state in tries[:-1]) for tries in made.values() if len(tries) > 1
    )
    further = sum(
        sum(state is State.FAILED for _, state in tries[:-1]) for tries in made.values() if len(tries) > 1
    )
    facts = (
        (r"No measured run was made twice\.", lambda n: all(len(tries) == 1 for tries in made.values())),
        (r"(\d+) further attempts? ", lambda n: n == further),
        (r"(\d+) runs? that had come out well", lambda n: n == again),
        (r"(\d+) attempts? do(?:es)? not count", lambda n: n == failed),
        (r"(\d+) blocks?(?:\.|, of which)", lambda n: n == len({block for _, block in made})),
        (
            r"The runs were made in (\d+) sessions",
            lambda n: n == len({one.session for one in found.attempts}),
        ),
        (r"Blocks were added once", lambda n: len(study.truth.ended) == 1),
        (r"Up to (\d+) runs were made at a time", lambda n: False),
        (r"Of \d+ passes .* in another order", lambda n: False),
        (r"What the nodes did during the runs was not recorded", lambda n: study.rises is None),
    )
    for text in part_of(page, Methods).design:
        for sentence in told.read("design", text):
            for pattern, is_so in facts:
                match = re.match(pattern, sentence)
                if match:
                    told.expect(sentence, is_so=is_so(int(match[1]) if match.groups() else 0))
            _session_change(told, study, sentence)


def _session_change(told: Told, study: Wild, sentence: str) -> None:
    """Hold the change of a machine that is told of two sessions against what it changed by."""
    match = re.search(r"measured (.+) [+−][\d.]+ % \[([+−]?[\d.]+), ([+−]?[\d.]+)\] in session 2", sentence)
    truth = study.truth
    if match is None or truth.drift or truth.step or truth.together or study.special:
        return
    is_rate = any(
        words(one.name) == match[1].partition(" (")[0] and one.better is Better.HIGHER
        for figures in truth.workloads.values()
        for one in figures
    )
    change = 100 * ((1 / truth.late_slower if is_rate else truth.late_slower) - 1)
    low, high = (float(end.replace("−", "-")) for end in match.groups()[1:])
    is_outside = not low - 0.51 <= change <= high + 0.51
    told.asked.append(Asked("interval of a change between sessions", True, is_outside, text=sentence))


@dataclasses.dataclass(frozen=True)
class _Kind:
    """A kind of figure by its words: of which workload, and of which points."""

    workload: str
    figure: Figure
    labels: Mapping[str, Scalar]
    sizes: str

    @property
    def words(self) -> str:
        at = ", ".join(coordinate(name, value) for name, value in self.labels.items())
        return " ".join(filter(None, (words(self.figure.name), f"({at})" if at else "", self.sizes)))

    def has(self, point: Mapping[str, Scalar]) -> bool:
        size = point.get("bytes", 1)
        is_labelled = all(point[name] == value for name, value in self.labels.items())
        return is_labelled and (not isinstance(size, int) or _SIZES[self.sizes](size))


def _kinds(study: Wild) -> Iterator[_Kind]:
    for workload, figures in study.truth.workloads.items():
        for figure in figures:
            labels: list[dict[str, Scalar]] = [{}]
            for name, values in figure.at.items():
                if name != "bytes":
                    labels = [{name: value} for value in values]
            for label in labels:
                for sizes in _SIZES if "bytes" in figure.at else [""]:
                    yield _Kind(workload, figure, label, sizes)


@dataclasses.dataclass(frozen=True)
class _Judge:
    """Holds clauses on one side against the truth."""

    study: Wild
    pairs: Sequence[tuple[Case, Case]]
    kinds: Sequence[_Kind]

    def truths(self, clause: Clause) -> Iterator[tuple[str, Better, float]]:
        """Yield the true ratios that a clause speaks of, with the workload and what is better."""
        for kind in self.kinds:
            if kind.words == clause.kind and clause.workload in ("", words(kind.workload)):
                for one, other in self.pairs:
                    if other.workload == kind.workload and self._is_at(clause, other):
                        yield kind.workload, kind.figure.better, self.ratio(kind, one, other)

    def ratio(self, kind: _Kind, one: Case, other: Case) -> float:
        return self.study.truth.ratio(one, other, kind.figure.name, kind.figure.better, kind.has)

    def _is_at(self, clause: Clause, case: Case) -> bool:
        if not clause.where:
            return True
        return any(
            nodes == case.layout.nodes
            and (not settings or any(self._have(case, one) for one in settings.split("; ")))
            for nodes, settings in clause.where
        )

    @staticmethod
    def _have(case: Case, settings: str) -> bool:
        known = {coordinate(name, value) for name, value in case.settings.items()}
        return known >= set(settings.split(", "))

    def is_true(self, clause: Clause, ratio: float, better: Better) -> bool:
        """Return whether a figure with this true ratio is what a clause says, in each of its words."""
        if clause.says is Says.SAME:
            return abs(math.log(ratio)) <= math.log1p(self.study.truth.margin) + _ROUNDING
        is_up = (clause.says is Says.WORSE) == (better is Better.LOWER)
        is_so = ratio > 1 + _ROUNDING if is_up else ratio < 1 - _ROUNDING
        return is_so and clause.is_more in (None, is_up)

    def is_false(self, clause: Clause) -> bool:
        """Return whether fewer figures or places are as a clause says than it says."""
        if clause.figures:
            return self.n_so(clause) < clause.figures
        so: dict[str, list[bool]] = {}
        for workload, better, ratio in self.truths(clause):
            so.setdefault(workload, []).append(self.is_true(clause, ratio, better))
        if clause.workload and not clause.cases:
            return not so or not all(all(each) for each in so.values())
        if clause.cases:
            return sum(sum(each) for each in so.values()) < clause.cases
        return sum(any(each) for each in so.values()) < clause.n_workloads

    def n_so(self, clause: Clause) -> int:
        """Return of how many figures it is so at any place."""
        return len(
            {
                (kind.workload, kind.words)
                for kind in self.kinds
                for one, other in self.pairs
                if other.workload == kind.workload
                and self.is_true(clause, self.ratio(kind, one, other), kind.figure.better)
            }
        )

    def any_ratio(self, holds: Callable[[float], bool]) -> bool:
        """Return whether the ratio of any figure at any place is such."""
        return any(
            holds(self.ratio(kind, one, other))
            for kind in self.kinds
            for one, other in self.pairs
            if other.workload == kind.workload
        )


def _answers(told: Told, study: Wild, found: Campaign, page: Content) -> None:
    """Read the answers, and hold each clause against the truth."""
    kinds = list(_kinds(study))
    names = list(dict.fromkeys(words(one) for one in study.truth.workloads))
    reference = page.variants.reference
    assert reference is not None
    grammar = Grammar(names, list(dict.fromkeys(words(one.figure.name) for one in kinds)), reference.name)
    plan = found.plan
    for answer in page.answers:
        mine = [case for case in plan.cases if page.variants.variant_of[case.id] == answer.variant]
        pairs = [(one, case) for case in mine if (one := plan.reference_of(case)) is not None]
        judge = _Judge(study, pairs, kinds)
        told.n_sentences += 1
        try:
            clauses = grammar.clauses(plain(answer.text))
        except UnknownSentenceError as error:
            told.unknown.setdefault(f"answer: {kind_of(str(error))}", plain(answer.text))
            continue
        told.asked += _judged(judge, clauses, plain(answer.text))
        for sentence in told.read("beside", answer.beside):
            told.asked += _of_beside(judge, sentence)


def _judged(judge: _Judge, clauses: Sequence[Clause], text: str) -> Iterator[Asked]:
    margin = math.log1p(judge.study.truth.margin) + _ROUNDING
    could = {
        "difference": judge.any_ratio(lambda ratio: abs(ratio - 1) < _ROUNDING),
        "equivalence": judge.any_ratio(lambda ratio: abs(math.log(ratio)) > margin),
    }
    for what, is_possible in could.items():
        yield Asked(f"sentences: {what}", False, False, is_possible)
    for clause in clauses:
        if clause.says is not Says.OPEN:
            what = "equivalence" if clause.says is Says.SAME else "difference"
            is_wrong = judge.is_false(clause)
            yield Asked(f"sentences: {what}", True, is_wrong, could[what], f"{clause} in: {text}")
        if clause.low is not None and clause.high is not None and not judge.study.truth.zeros:
            ratios = [ratio for _, _, ratio in judge.truths(clause)]
            centre = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
            is_outside = not clause.low <= centre <= clause.high
            yield Asked("interval in a sentence", True, is_outside, text=f"{centre} {clause} in: {text}")


def _of_beside(judge: _Judge, sentence: str) -> Iterator[Asked]:
    """Yield what is claimed of figures that are only counted beside the answer."""
    if "not answer this" not in sentence:
        return
    for says, listed in re.findall(r"\d+ (worse|better) \(((?:[^()]|\([^()]*\))*)\)", sentence):
        for name in re.split(r", | and ", listed):
            of_workload, _, figure = name.rpartition("’s ")
            alike = [
                kind
                for kind in judge.kinds
                if figure.startswith(words(kind.figure.name)) and of_workload in ("", words(kind.workload))
            ]
            is_so = name == "others" or any(
                judge.is_true(Clause(Says(says)), judge.ratio(kind, one, other), kind.figure.better)
                for kind in alike
                for one, other in judge.pairs
                if other.workload == kind.workload
            )
            yield Asked("sentences: difference", True, not is_so, text=sentence)
