"""Parse rules, such as ``overhead(network=overlay) > 5 %``. This is the whole grammar:

rule       = and {"or" and}
and        = not {"and" not}
not        = "not" not | "(" rule ")" | comparison
comparison = call op limit | limit op call
call       = function "(" [argument {"," argument}] ")"
argument   = fom | name "=" value {"|" value}
limit      = number [unit]
op         = ">" | ">=" | "<" | "<="
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from tare.analysis.checking.rules import (
    Bound,
    Call,
    Function,
    Group,
    Kind,
    Node,
    Op,
    Rule,
    RuleSource,
    Selector,
    opposite,
    rule_fault,
)
from tare.core.errors import UsageError, name_cure
from tare.core.expressions import ExpressionError, Logic

_LONGEST = 2000

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_VALUE = re.compile(r"""[\w.+:/@%-]+|"[^"]*"|'[^']*'""")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_UNIT = re.compile(r"(?!(?:and|or|not)\b)(?:%|1?/[A-Za-zµ]+|[A-Za-zµ][\w/-]*)")
_OP = re.compile(r">=|<=|>|<")
_EQUALITY = re.compile(r"==|!=|=")
_EXAMPLE = "overhead(network=overlay) > 5 %"


def parse_rules(sources: Iterable[RuleSource]) -> list[Rule]:
    """Return the rules, one that is given again without a name of its own only once.

    Judged twice, it would need stronger evidence: all comparisons of a check are corrected together. Raises
    UsageError with the first fault of each faulty rule.
    """
    rules: list[Rule] = []
    faults: list[str] = []
    known: set[tuple[Kind, str]] = set()
    for source in sources:
        try:
            rule = parse_rule(source)
        except UsageError as error:
            faults.append(str(error))
            continue
        if source.name or (rule.kind, rule.text) not in known:
            rules.append(rule)
        known.add((rule.kind, rule.text))
    if faults:
        raise UsageError("\n".join(faults))
    return rules


def parse_rule(source: RuleSource) -> Rule:
    """Return the rule in `source`. Raises UsageError that points at its first fault."""
    text = " ".join(source.text.split())
    if len(text) > _LONGEST:
        message = f"more than {_LONGEST} characters; make several rules of it"
        raise rule_fault(source.where, f"{text[:60]} …", 1, message)
    try:
        node = _Parser(text).whole()
    except ExpressionError as error:
        raise rule_fault(source.where, text, error.column, error.message) from None
    violation = node if source.kind is Kind.FAIL_IF else opposite(node)
    return Rule(name=source.name or text, kind=source.kind, text=text, violation=violation, source=source)


class _Limit(NamedTuple):
    number: float
    unit: str
    column: int


class _Parser(Logic[Node]):
    """Parses a rule (see Logic)."""

    too_deep = "make several rules of it"

    def term(self) -> Node:
        """Parse a comparison, or a rule in brackets."""
        return self.nested(self._bracketed) if self.take("(") else self._comparison()

    def joined(self, parts: list[Node], *, is_all: bool) -> Node:
        """Return the group of `parts`."""
        return Group(is_all, tuple(parts))

    def negated(self, part: Node) -> Node:
        """Return the opposite of `part`."""
        return opposite(part)

    def _bracketed(self) -> Node:
        node = self.either()
        self.require(")", "close the bracket with ')'")
        return node

    def _comparison(self) -> Node:
        left = self._operand()
        op = self._op()
        right = self._operand()
        if isinstance(left, Call) and isinstance(right, _Limit):
            return Bound(call=left, op=op, limit=right.number, unit=right.unit, column=right.column)
        if isinstance(left, _Limit) and isinstance(right, Call):
            return Bound(call=right, op=op.mirrored, limit=left.number, unit=left.unit, column=left.column)
        raise self.fault(f"compare a function with a number, such as {_EXAMPLE}", right.column)

    def _op(self) -> Op:
        self.skip_space()
        if found := self.match(_OP):
            return Op(found)
        if _EQUALITY.match(self.text, self.at):
            raise self.fault("an interval can never show that two numbers are equal; use < <= > or >=")
        raise self.fault("expected < <= > or >= and a limit, such as > 5 %")

    def _operand(self) -> Call | _Limit:
        self.skip_space()
        column = self.column
        if number := self.match(_NUMBER):
            if not math.isfinite(float(number)):
                raise self.fault("a limit must be finite", column)
            self.skip_space()
            return _Limit(float(number), self.match(_UNIT), column)
        name = self.match(_NAME)
        if not name:
            raise self.fault(f"expected a comparison, such as {_EXAMPLE}")
        known = [str(one) for one in Function]
        if name not in known:
            raise self.fault(f"unknown function {name!r}; {name_cure(name, known)}", column)
        return self._call(Function(name), column)

    def _call(self, function: Function, column: int) -> Call:
        start = column - 1
        self.require("(", f"write {function}(…), with what to select between the brackets")
        foms: list[Selector] = []
        selectors: list[Selector] = []
        while not self.take(")"):
            if (foms or selectors) and not self.take(","):
                raise self.fault("expected ',' or ')'")
            argument = self._argument()
            (foms if argument.name == "fom" else selectors).append(argument)
        self._require_once([*foms, *selectors])
        if foms and len(foms[0].values) > 1:
            raise self.fault("one figure of merit at a time; make several rules of it", foms[0].column)
        return Call(
            function=function,
            fom=foms[0].values[0] if foms else None,
            fom_column=foms[0].column if foms else column,
            selectors=tuple(selectors),
            column=column,
            text=self.text[start : self.at],
        )

    def _argument(self) -> Selector:
        self.skip_space()
        column = self.column
        name = self._value("expected name=value, such as network=overlay")
        if not self.take("="):
            return Selector(name="fom", values=(name,), column=column)
        values = [self._value(f"expected a value, such as {name}=…")]
        while self.take("|"):
            values.append(self._value("expected another value after '|'"))
        return Selector(name=name, values=tuple(values), column=column)

    def _require_once(self, arguments: Iterable[Selector]) -> None:
        seen: set[str] = set()
        for one in arguments:
            if one.name in seen:
                raise self.fault(f"{one.name} is selected twice; write {one.name}=this|that", one.column)
            seen.add(one.name)

    def _value(self, expected: str) -> str:
        self.skip_space()
        found = self.match(_VALUE)
        if not found:
            raise self.fault(expected)
        return found[1:-1] if found[0] in "\"'" else found
