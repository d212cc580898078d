"""Represent rules such as ``overhead(network=overlay) > 5 %``.

A rule is stored as its violation, so that `fail if` and `pass if` have the same form: a `pass if` rule is
violated by its opposite. In a violation, each comparison asks whether *any* match is beyond its limit.
"""

from __future__ import annotations

import enum
import re

import msgspec

from tare.core.errors import UsageError
from tare.core.units import write_number


class Function(enum.StrEnum):
    """The functions that a rule can use."""

    OVERHEAD = "overhead"
    RATIO = "ratio"
    VALUE = "value"
    MEDIAN = "median"
    P90 = "p90"
    CV = "cv"
    CV_RATIO = "cv_ratio"
    EFFICIENCY = "efficiency"

    @property
    def has_reference(self) -> bool:
        """Return whether the function compares a contender with its reference."""
        return self in (Function.OVERHEAD, Function.RATIO, Function.CV_RATIO)

    @property
    def null(self) -> float | None:
        """Return the value for equal sides; None if the function compares no sides."""
        return {Function.OVERHEAD: 0.0, Function.RATIO: 1.0, Function.CV_RATIO: 1.0}.get(self)

    @property
    def is_figure(self) -> bool:
        """Return whether the result is a figure of merit itself, in its own unit."""
        return self in (Function.VALUE, *QUANTILES)


QUANTILES = {Function.MEDIAN: 0.5, Function.P90: 0.9}
"""The quantile of the runs that each function returns."""


class Op(enum.StrEnum):
    """How a quantity is compared with a limit. There is no equality, since an interval can never show it."""

    ABOVE = ">"
    AT_LEAST = ">="
    BELOW = "<"
    AT_MOST = "<="

    @property
    def is_upward(self) -> bool:
        """Return whether it holds for large quantities."""
        return self in (Op.ABOVE, Op.AT_LEAST)

    @property
    def opposite(self) -> Op:
        """Return the operator that holds where this one does not."""
        return {">": Op.AT_MOST, "<=": Op.ABOVE, "<": Op.AT_LEAST, ">=": Op.BELOW}[self]

    @property
    def mirrored(self) -> Op:
        """Return the same operator with its sides swapped."""
        return {">": Op.BELOW, "<": Op.ABOVE, ">=": Op.AT_MOST, "<=": Op.AT_LEAST}[self]


class Selector(msgspec.Struct, frozen=True, kw_only=True):
    """``name=value``, or ``name=one|other``. `column` is its position in the rule, from 1."""

    name: str
    values: tuple[str, ...]
    column: int


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A function and what it selects. `fom` is None for the figures of merit that a summary shows."""

    function: Function
    fom: str | None
    fom_column: int
    selectors: tuple[Selector, ...]
    column: int
    text: str


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity and its limit. The bound holds where any match of `call` is beyond the limit."""

    call: Call
    op: Op
    limit: float
    unit: str
    column: int
    """The position of the limit in the rule."""

    @property
    def text(self) -> str:
        """Return the bound in the syntax of a rule."""
        limit = " ".join(filter(None, (write_number(self.limit), self.unit)))
        return f"{self.call.text} {self.op} {limit}"


class Group(msgspec.Struct, frozen=True):
    """Parts that must all hold, or of which at least one must hold."""

    is_all: bool
    parts: tuple[Node, ...]


Node = Bound | Group


class Kind(enum.StrEnum):
    """Whether a rule says when to fail or when to pass."""

    FAIL_IF = "fail_if"
    PASS_IF = "pass_if"  # noqa: S105 – not a password


class RuleSource(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a rule and its origin; `where` describes the origin for the user.

    `file` and `line` are empty and 0 for a rule that comes from no file.
    """

    text: str
    kind: Kind
    where: str
    name: str = ""
    file: str = ""
    line: int = 0


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed rule of a check."""

    name: str
    kind: Kind
    text: str
    violation: Node
    source: RuleSource

    @property
    def words(self) -> str:
        """Return the rule as the user wrote it: ``fail if overhead(…) > 5 %``."""
        return f"{'fail' if self.kind is Kind.FAIL_IF else 'pass'} if {self.text}"

    @property
    def has_negation(self) -> bool:
        """Return whether it has a ``not``, so that a bound may be the opposite of what is written."""
        return re.search(r"\bnot\b", self.text) is not None

    def fault(self, column: int, message: str) -> UsageError:
        """Return a UsageError with `message` about the text at `column`."""
        return rule_fault(self.source.where, self.text, column, message)


def rule_fault(where: str, text: str, column: int, message: str) -> UsageError:
    """Return an error that shows the rule and points at the column."""
    return UsageError(f"{where}: column {column}: {message}\n  {text}\n  {' ' * (column - 1)}^")


def opposite(node: Node) -> Node:
    """Return a condition that holds where `node` does not (De Morgan)."""
    if isinstance(node, Bound):
        return msgspec.structs.replace(node, op=node.op.opposite)
    return Group(not node.is_all, tuple(opposite(part) for part in node.parts))


def bounds_of(node: Node) -> tuple[Bound, ...]:
    """Return the comparisons of `node` with limits, from left to right."""
    if isinstance(node, Bound):
        return (node,)
    return tuple(bound for part in node.parts for bound in bounds_of(part))
