"""Every kind of sentence that a report may print, as a pattern: what none of them reads is not known.

The answers themselves have a grammar of their own; see `truth.grammar`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

N = r"[+−]?\d[\d.  ]*(?:e[+−]\d+)?"
PERCENT = rf"[+−±]? ?{N} %"
B = r"(?: \[[^\]]*\])?"
FIGURES = r"[^:]+’s [^:]+"
WHO = r"[^:;]+ · [^:;]+"

NOTES = (
    rf"blocks (?:may )?resemble the one before \(r = {N}\): the interval is wider for it",
    rf"blocks (?:may )?resemble the one before \(r = {N}\): too few count for an interval",
    rf"blocks resemble the one before \(r = {N}\), and \d+ are too few to tell how many of them count",
    rf"rounding of what was printed may be ± {N} %",
    "some values are zero or less: ratio of arithmetic means",
    "no interval, since the mean of the reference may be zero",
    "no ratio: the mean of the (?:reference is zero or less|contender is below zero)",
    r"(?:within the margin|a difference) alone, but not (?:among \d+ comparisons|at a \w+ look(?: among \d+ "
    r"comparisons)?|at the 4 of 5 % that a first look may spend)",
    "within the margin, but the mean of what adds up is not",
    r"within the margin, but \S+, an elapsed time, is worse",
    rf"ranks disagree: × {N} \[[^\]]*\] at {N} %",
    r"\d+ of \d+ pairs? of runs (?:is|are) missing; the others of their blocks count",
    r"\d+ of \d+ (?:points?|cases?) left out: (?:too few blocks, or zero or less|only one side has them)",
    r"too few blocks with both sides: an interval takes \d+",
    r"not measured on both sides(?:: [^:;]+ has none, since [^:;]+|: they have no point in common)?",
    "not measured together",
    "values nearer to 0 than 10⁻⁶⁰ count as 0",
    r"\d+ more blocks? would settle it",
    rf"in the (?:mean of times|arithmetic mean|harmonic mean) (?:1/)?{N} ?[%×]{B}(?:, (?:worst run|95th "
    rf"percentile|"
    r"5th percentile) [^→]+ → [^;]+)?",
    rf"may miss a slow mode of up to {N} % of the runs",
    r"preliminary: \d+ of \d+ blocks",
    r"a \w+ look at the results, so judged more strictly",
    "the figure of merit has no direction",
    r"(?:within the margin|so in the mean) over all of them, but (?:(?:worse|better|differs) at [^;]+)",
    r"\d+ runs? (?:of the \w+ )?(?:and \d+ runs? of the contender )?(?:was|were) ended at (?:its|their) "
    r"time-out and (?:does|do) not count",
)
"""What stands beside a row, joined by semicolons."""

_NOTE = "(?:" + "|".join(NOTES) + ")"
_OF_SOME = (
    rf"(?:(?:in \d+ of \d+ cases, )?{_NOTE}|\d+ more case has a note in the tables|"
    r"\d+ more cases have notes in the tables)"
)
_RUNS = r"\d+ (?:further )?(?:runs?|attempts?)"
_WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d to (?:\d{4}-\d\d-\d\d )?\d\d:\d\d UTC"
_SESSION_CHANGE = (
    rf"(?:the reference itself \([^()]*(?:\([^()]*\))?[^()]*\)|{WHO}) measured .+ {N} ?[%×]{B} "
    r"in session \d+ next to session \d+"
)
_CHANGES = rf"{_SESSION_CHANGE}|\d+ more figures? changed between sessions"

_OUTCOME = r"\d+ (?:worse|better)(?: in some rows(?: and better in others)?)? \([^)]*(?:\([^)]*\)[^)]*)*\)"
_ASIDE = r"(?: \((?:[^()]|\([^()]*\))+\))?"
_GROUP = r"(?:all \d+|both|one) of the [a-z ]+"
_FEW = "(?: of so few (?:blocks|runs))?"
_BESIDE = "(?:next to what the others do alike, )?"

SENTENCES: dict[str, tuple[str, ...]] = {
    "beside": (
        r"\d+ comparisons? lacks? (?:three|6) blocks with values of both sides\.",
        r"About \d+ blocks instead of \d+ would settle (?:the undecided one|\d+ of the \d+ undecided|"
        r"(?:all \d+|both) undecided), if ratio and noise stay as they are"
        r"(?:; \d+ more would take over \d+)?\.",
        r"No number of blocks would settle (?:the undecided one|\d+ of the \d+ undecided|any of the \d+ "
        r"undecided): "
        r"the figures are printed with too few digits\.",
        r"\d+ blocks would not settle (?:the undecided one|any of the \d+ undecided|\d+ of the \d+ "
        r"undecided), if ratio and noise stay as they are\.",
        "The undecided lie too near the margin for any sensible number of blocks to settle them.",
        rf"On {FIGURES}: {_OF_SOME}(?:; {_OF_SOME})*\.",
        rf"(?:Equivalent|Within the margin) from \d+ (?:block|run)s?: may miss a slow mode of up to {N} % "
        r"of the runs\.",
        rf"Over all sizes {FIGURES} is (?:worse|better): .+\.",
        r"Preliminary: \d+ of \d+ blocks(?:; a \w+ look at the results, so judged more strictly)?\.",
        "At 1 node nothing crosses the network: what differs there is not what the network carries.",
        "At 1 node nothing crosses the network, so the networks are not compared there.",
        r"\d+ more figures? that (?:does|do) not answer this (?:was|were) measured: (?:none is known to be "
        rf"worse or better|{_OUTCOME}(?:, {_OUTCOME})*(?: and {_OUTCOME})?)\.",
    ),
    "reading": (
        r"No number has an interval: too few blocks have values of both sides\.",
        r"In brackets: 95 % intervals from n = \d+(?: to \d+)? paired blocks?\.",
        r"Each number is of one figure of one workload: of the message sizes that it names, or of all\.",
        r"Scales are averaged only where each has the same verdict\.",
        r"Equivalent: the whole interval lies within ± [\d.]+ %(?:, from −[\d.]+ % to \+[\d.]+ %)?\.",
        r"All of it holds if the (?:blocks|runs) of a side are independent of each other, which "
        r"\d+(?: to \d+)? (?:blocks|runs) cannot show(?:; (?:"
        rf"(?:the|no) verdicts?{_FEW} holds?|(?:all \d+|both) verdicts{_FEW} hold|"
        rf"\d+ of \d+ verdicts{_FEW} holds?) "
        r"without that, where (?:blocks|runs) resemble the one before by up to [\d.]+)?\.",
        r"What is claimed allows for (?:all \d+|both) being asked at once\.",
        rf"What is claimed allows for {_GROUP}(?:, {_GROUP})* and {_GROUP} being asked at once, "
        r"but not for these groups being asked together\.",
    ),
    "design": (
        rf"All runs of Tare were made in one session, {_WHEN}\.",
        rf"The runs were made in \d+ sessions: session 1, {_WHEN}, with \d+ measured runs?(?:; session \d+, "
        rf"{_WHEN}, with \d+ measured runs?)+\.",
        r"Between them lay [\d hmins.]+\.",
        r"The outputs of \d+ runs? of the campaign \S+ were read anew on [\d-]+ \(tare reparse\): "
        r"\d+ runs? (?:was|were) of another state before\.",
        r"Only runs of one block and one session are paired"
        r"(?:; what did not run together is compared unpaired, as was asked for)?\.",
        r"(?:The pass|Each of \d+ passes) over (?:the )?cases of a block began its runs in the order "
        r"that was drawn "
        r"at random for its block \(seed \d+\)\.",
        r"\d+ blocks?\.",
        r"Each has a measured run of every case that it was begun with, made together\.",
        r"\d+ blocks?, of which \d+ (?:has|have) measured runs of all their cases, made together\.",
        r"\d+ cases? first ran in a later session \(\d+\): [^.]+(?:\.[^ ][^.]*)*\.",
        r"No measured run was made twice\.",
        rf"{_RUNS} (?:was|were) made because the infrastructure had failed, or tare had ended before the run "
        r"did\.",
        rf"{_RUNS} that had come out well (?:was|were) made once more in a later session, so that what is "
        r"compared ran together\.",
        rf"{_RUNS} (?:does|do) not count: \d+ failed\.",
        r"Only runs whose output passed every check count\.",
        r"The study asks for \d+ to \d+ blocks, until each interval is within ± [\d.]+ %; the rule looks at "
        r"widths alone, and never at verdicts\.",
        r"Within a block, nothing of it ran for up to [^,]+, which parts no pairs: the machine may have "
        r"changed "
        r"meanwhile\.",
        r"By now (?:it is|it is not|(?:all \d+|both) are|\d+ of \d+ cases? (?:is|are))\.",
        r"Nothing is known by now that it could judge\.",
        r"Blocks were added once after results could be seen, so this is a second look at (?:them|\d+ of \d+ "
        r"contenders)\.",
        r"What the nodes did during the runs was not recorded\.",
        r"The nodes were (?:watched during every measured run)\.",
        rf"(?i:{_CHANGES})\.",
    ),
    "tested": (
        r"\d+ series of runs tested for [\w, -]+, corrected for looking at so many\.",
        r"\d+ more (?:is|are) not tested: that takes 5 blocks, and no value of zero or less\.",
        r"A warm-up cannot be told with fewer than 10 blocks\.",
        r"Not tested for drift, warm-up or outliers: that takes 5 blocks, and no value of zero or less\.",
        r"Two modes cannot be told with fewer than 10 blocks\.",
    ),
    "doubts": (
        rf"{_BESIDE}drifts by {PERCENT} a block, over \d\d+ blocks",
        rf"{_BESIDE}(?:rises|falls) by {PERCENT} a block, or wanders: [5-9] blocks cannot tell which",
        rf"get (?:worse|better) alike by {PERCENT} a block, over \d\d+ blocks",
        rf"get (?:worse|better) alike by {PERCENT} a block, or wander alike: [5-9] blocks cannot tell which",
        rf"are (?:worse|better) alike in blocks? [\d, andto]+: by {PERCENT} next to the rest",
        rf"{_BESIDE}blocks? [\d, andto]+ stands? apart from the rest: {PERCENT}",
        r"has two modes, at .+ and .+: blocks? [\d, andto]+ of \d+ in one",
        rf"(?:its ratio to the reference|each run) resembles the one (?:in the block )?before: "
        rf"autocorrelation "
        rf"{N}, where noise stays below {N}",
        rf"blocks? [\d, andto]+ lies? far off: (?:up to )?{PERCENT} of the median",
        rf"\d+ of \d+ ratios? undecided, known to {PERCENT} in the median, where {PERCENT} was asked about: "
        rf"ratios scatter by {PERCENT} from block to block(?: and resemble the one before)?, so that "
        rf"{PERCENT} takes about {N} blocks: they "
        "were too noisy for that question",
        rf"(?:{_CHANGES})(?:; (?:{_CHANGES}))*",
    ),
    "scatter": (r"(?:scatters (?:more|less|alike)|undecided|not known)",),
    "scaling": (
        rf"× (?:1/)?{N} ?{B} as fast on \d+ nodes as on \d+, an efficiency of {N} %{B}{_ASIDE}\.",
        r"Efficiency (?:is below|seems below|stays at|seems) .+\.",
        rf"Scaling (?:is|seems) negative from \d+ to \d+ nodes: throughput × (?:1/)?{N} ?{B}{_ASIDE}\.",
        r"Super-linear \(efficiency above 100 %\) at .+\.",
        r"The USL’s best fit has no peak of throughput; (?:one at (?:any scale|.+ or more) is not "
        r"excluded|without intervals, none is excluded|none is seen at any scale)\.",
        r"The USL puts the peak of throughput at .+\.",
        r"Not measured: .+\.",
        r"Not measured together with \d+ nodes?: .+\.",
        r"No speedup(?: on .+)?: a mean is zero or less\.",
        r"Not measured\.",
    ),
    "crossovers": (
        rf"\w+ is better below [^,]+?{B}, \w+ above \((?:without interval: too few blocks; )?measured "
        rf"at [^)]+\)",
    ),
    "saturations": (
        r"not below .+, the last that was measured(?:; .+ not excluded)?",
        r"at .+, the best(?:; .+ not excluded)?",
        rf"from .+: {N} %{B} of the best(?:, surely|; surely from .+|; not surely below .+, the best)?",
    ),
    "watched": (
        r"Nothing that the nodes did is known to differ by one percent or more\.",
        r"\d+ of \d+ runs? (?:has|have) no part in this: not all nodes were watched to the end\.",
        r"The first line of telemetry\.jsonl\.gz there says why\.",
    ),
    "account": (r"\d+ runs? planned: (?:\d+ \w+(?:, )?)+\.",),
    "check": (
        r"the whole interval is (?:beyond|within) the limit.*",
        r"the limit lies within the interval; more runs narrow it.*",
        r"(?:beyond|within) the limit, but no.*",
        r"beyond the limit, but not when adjusted for all comparisons that are judged.*",
        r"within the limit alone, but not when adjusted for .*",
        r"\d+ runs?: an interval takes \d+.*",
        r"no interval: some values are zero or less.*",
        r"not computed: some values are zero or less, or all are the same",
        rf"blocks resemble the one before \(r = {N}\), and \d+ are too few to tell how many of them count.*",
        r"not measured together.*",
        r"not measured.*",
        r".*the networks are not compared.*",
    ),
    "notes": (rf"{_NOTE}(?:; {_NOTE})*",),
    "rules": (
        r"No speedup is reported\.",
        r"Changes are relative to .+, with absolute values\.",
        r"The bases? (?:is|are) .+\.",
        r"Whether that is the best serial program was not asked\.",
        r"No exclusion is recorded\.",
        r"How many cores the nodes have was not recorded\.",
        r"Within a run what its program printed counts\.",
        r"Over blocks the mean is geometric, since noise multiplies\.",
        r"For \d+ quoted ratios? that of what adds up is computed as well: for costs the arithmetic "
        r"mean, for rates "
        r"the harmonic one\.",
        r"It differs for none of these\.",
        r"It differs for \d+ quoted ratios?, next to which it is shown\.",
        r"Ratios are formed within blocks, where what slowed all runs cancels, and averaged "
        r"geometrically(?:; where values are zero or less they are those of arithmetic means)?; the "
        r"costs and rates that they are made of stand beside them\.",
        r"Nothing was compared\.",
        r"\d+ quoted ratios? (?:has an interval|have intervals) over blocks\.",
        r"\d+ ratios? had the same value in every block\.",
        r"\d+ ratios? (?:has|have) none\.",
        r"No ratio has blocks enough for a test\.",
        r"No quoted ratio has what its diagnostic takes: five blocks that differ, and no value of zero or "
        r"less\.",
        r"\d+ quoted ratios? (?:was|were) tested for being log-normal by Shapiro and Francia's W'; .+\.",
        r"A difference is claimed where its t test holds(?: among (?:all \d+|both))?, "
        r"equivalence by two such tests\.",
        r"Means are compared\.",
        r"With \d+ (?:block|run)s? a slow mode of up to [\d.]+ % of the runs can go unseen, which stands "
        r"beside each equivalence\.",
        r"The bad runs of both sides stand in the details of each cell, and the table of runs holds "
        r"what each "
        r"gave\.",
        r"(?:Varied: .+|Nothing was varied)\.",
        r"The environment was not recorded\.",
        r"Figures are what the programs print of themselves; how they synchronise ranks is theirs\.",
        r"No bound is known: neither the site file nor the nodes' adapters have one for these figures\.",
        r"Charts show intervals where there are any\.",
        r"Lines join neighbouring points that were measured, and break where one is missing\.",
    ),
    "facts": (
        rf"Runs of one case scatter by {N}(?: %)?(?: to {N} %)? \(coefficient of variation, by case(?:; "
        rf"of several "
        r"figures or sizes their median)?\)\.",
        r"Not known: no case has two measured blocks with a figure whose mean is not zero\.",
        r"The load of the machine was not recorded\.",
        r"No two runs were made in one pass over the cases\.",
        r"No measured run (?:spans several nodes over a named network; there was nothing to prove|had "
        r"to prove "
        r"which network its data took between nodes)\.",
        r"\d+ cases? differs? from the reference in the network, with all ranks on one node: nothing "
        r"that they "
        r"send each other crosses it\.",
        r"\d+ blocks? measured(?: in \d+ sessions)?\.",
    ),
}
"""Patterns by the place where a sentence stands."""

_SHARED = {"facts": ("design",)}
_COMPILED = {
    place: [
        re.compile(pattern, re.DOTALL)
        for pattern in (*own, *(one for other in _SHARED.get(place, ()) for one in SENTENCES[other]))
    ]
    for place, own in SENTENCES.items()
}


def kind_of(sentence: str) -> str:
    """Return a sentence without its numbers: what is not known is told once."""
    return re.sub(r"\d[\d.]*", "#", sentence)


def plain(text: str) -> str:
    """Return text with ordinary spaces."""
    return re.sub("[\u00a0\u202f\u2009 ]+", " ", text)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text."""
    yield from (one for one in re.split(r"(?<=\.) (?=[A-Z×\d])", plain(text).strip()) if one)


def is_known(place: str, sentence: str) -> bool:
    """Return whether a pattern of that place reads the whole of a sentence."""
    return any(pattern.fullmatch(sentence) for pattern in _COMPILED[place])
