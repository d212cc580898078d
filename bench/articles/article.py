"""Read an article: its claims, the studies that try them on this machine, and what decides each of them."""

from __future__ import annotations

import enum
import tomllib
from pathlib import Path

import msgspec

from tare.core.values import Scalar

FOLDER = Path(__file__).parents[2] / "studies" / "articles"
FILE = "article.toml"


class LocalStudy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study that runs on this machine.

    `file` is relative to the article's folder. `scale` describes what runs, in words of a reader. `minutes`
    is an estimate for two idle cores. `needs` names the programs that it runs, or the path of one. A study
    `in_pods` runs in a Kubernetes that `kubelab` brings up for it, with these `packages` of Debian in its
    image; with `on_claim`, its campaign is on the claim that all pods share. One `in_cluster` runs over ssh
    in the containerised cluster of the lab. `suites` are the releases of Debian whose root file systems it
    needs beside the lab's own.
    """

    file: str
    scale: str
    minutes: float
    needs: tuple[str, ...] = ()
    in_pods: bool = False
    in_cluster: bool = False
    on_claim: bool = False
    packages: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the study, and of the folder of its campaign."""
        return Path(self.file).stem


class FullStudy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The study at the published size, and the site that the article describes."""

    file: str
    site: str


class Follows(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`fom` has the same rank order as `cause` over the levels of a setting, or the opposite one."""

    fom: str
    cause: str
    over: str
    is_inverse: bool = False


class Rises(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ratio contender / reference of `fom` is greater at the coordinates `to` than at `start`."""

    fom: str
    contender: dict[str, Scalar]
    reference: dict[str, Scalar]
    start: dict[str, Scalar]
    to: dict[str, Scalar]


class TableMatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What of `study` stands beside each series of the published `table`, and why.

    `levels` gives each series a level of the setting `over`. Ratios are to the series `reference`.
    """

    table: str
    study: str
    over: str
    reference: str
    levels: dict[str, Scalar]
    because: str

    @property
    def test(self) -> str:
        """Return the study and the levels as one line, by which recorded results are recognised."""
        levels = ", ".join(f"{series}={level}" for series, level in self.levels.items())
        return f"{self.study}, {self.over}: {levels}; against {self.reference}"


class Kind(enum.StrEnum):
    """How a part of a claim is decided."""

    RULE = "rule"
    FOLLOWS = "follows"
    RISES = "rises"
    RUNS = "runs"
    CANNOT = "cannot"


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that a claim states, and the question that this machine can answer about it.

    `published` is what the article reports of it; if it is empty, the published table of the claim is judged
    instead. `asked` is the sentence that the verdict is about. Exactly one of `pass_if` (a rule of `tare
    check`), `follows`, `rises`, `more_runs_than` and `cannot` is given. `cannot` is the reason why this
    machine cannot try it. `reference` replaces the reference of the study in a rule.
    """

    id: str
    claim: str
    states: str
    published: str = ""
    study: str = ""
    asked: str = ""
    pass_if: str = ""
    reference: dict[str, Scalar] = {}
    follows: Follows | None = None
    rises: Rises | None = None
    more_runs_than: int | None = None
    cannot: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError unless exactly one thing decides, and a study is named for it."""
        if len(self._deciders()) != 1:
            raise ValueError(
                f"part {self.id}: give one of pass_if, follows, rises, more_runs_than and cannot"
            )
        is_tried = self.kind is not Kind.CANNOT
        if is_tried != bool(self.study and self.asked):
            raise ValueError(
                f"part {self.id}: a part that is tried has a study and a question, others neither"
            )
        if self.reference and self.kind is not Kind.RULE:
            raise ValueError(f"part {self.id}: only a rule takes a reference")

    def _deciders(self) -> list[Kind]:
        given = {
            Kind.RULE: bool(self.pass_if),
            Kind.FOLLOWS: self.follows is not None,
            Kind.RISES: self.rises is not None,
            Kind.RUNS: self.more_runs_than is not None,
            Kind.CANNOT: bool(self.cannot),
        }
        return [kind for kind, is_given in given.items() if is_given]

    @property
    def kind(self) -> Kind:
        """Return what decides the part."""
        return self._deciders()[0]

    @property
    def test(self) -> str:
        """Return what decides the part as one line, by which recorded results are recognised."""
        if self.kind is Kind.CANNOT:
            return ""
        if self.pass_if:
            against = ", ".join(f"{name}={value}" for name, value in self.reference.items())
            return f"{self.pass_if}{f', against {against}' if against else ''}"
        if self.follows is not None:
            one = self.follows
            order = "opposite" if one.is_inverse else "same"
            return f"order of {one.fom} over {one.over}: the {order} order as {one.cause}"
        if self.rises is not None:
            up = self.rises
            return (
                f"{up.fom}, {_settings(up.contender)} / {_settings(up.reference)}: "
                f"the ratio at {_settings(up.to)} over that at {_settings(up.start)} is above 1"
            )
        return f"more than {self.more_runs_than} runs are done"


class Article(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published article. `tables` names its published tables; `key` is the name of its folder."""

    title: str
    publisher: str
    system: str
    tables: tuple[str, ...] = ()
    full: tuple[FullStudy, ...]
    studies: tuple[LocalStudy, ...]
    parts: tuple[Part, ...]
    matches: tuple[TableMatch, ...] = ()
    key: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError if a part names a study that the article does not have, or an id occurs twice."""
        names = {study.name for study in self.studies}
        if missing := sorted({part.study for part in self.parts if part.study} - names):
            raise ValueError(f"no study is called {', '.join(missing)}; there are {', '.join(sorted(names))}")
        for one in self.matches:
            if one.study not in names or one.table not in self.tables or one.reference not in one.levels:
                raise ValueError(f"match of {one.table}: its study, table or reference is not there")
        ids = [part.id for part in self.parts]
        if len(set(ids)) < len(ids):
            raise ValueError("two parts have the same id")

    @property
    def folder(self) -> Path:
        """Return the folder of the article."""
        return FOLDER / self.key

    def path_of(self, study: LocalStudy) -> Path:
        """Return the path of one of its studies."""
        return (self.folder / study.file).resolve()


def keys() -> list[str]:
    """Return the folders of the articles, in alphabetical order."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{FILE}"))


def read_article(key: str) -> Article:
    """Return the article in the folder `key`. Raises msgspec.ValidationError if its file is wrong."""
    content = tomllib.loads((FOLDER / key / FILE).read_text(encoding="utf-8"))
    return msgspec.structs.replace(msgspec.convert(content, Article), key=key)


def _settings(settings: dict[str, Scalar]) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())
