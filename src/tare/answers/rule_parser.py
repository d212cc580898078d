"""Read a rule. The language is small, and all of it is this grammar:

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
from collections.abc import Callable, Iterable
from typing import NamedTuple

from tare.answers.rules import (
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
from tare.errors import UsageError, nearest_name

_LONGEST = 2000
_DEEPEST = 50

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_VALUE = re.compile(r"""[\w.+:/@%-]+|"[^"]*"|'[^']*'""")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_UNIT = re.compile(r"(?!(?:and|or|not)\b)(?:%|1?/[A-Za-zµ]+|[A-Za-zµ][\w/-]*)")
_OP = re.compile(r">=|<=|>|<")
_EQUALITY = re.compile(r"==|!=|=")
_EXAMPLE = "overhead(network=overlay) > 5 %"


def parse_rules(sources: Iterable[RuleSource]) -> list[Rule]:
    """Return the rules. Raises UsageError with the first fault of each that has one."""
    rules: list[Rule] = []
    faults: list[str] = []
    for source in sources:
        try:
            rules.append(parse_rule(source))
        except UsageError as error:
            faults.append(str(error))
    if faults:
        raise UsageError("\n".join(faults))
    return rules


def parse_rule(source: RuleSource) -> Rule:
    """Return the rule that `source` writes. Raises UsageError that points at its first fault."""
    text = " ".join(source.text.split())
    if len(text) > _LONGEST:
        message = f"more than {_LONGEST} characters; make several rules of it"
        raise rule_fault(source.where, f"{text[:60]} …", 1, message)
    try:
        node = _Parser(text).rule()
    except _FaultError as error:
        raise rule_fault(source.where, text, error.place.column, error.place.message) from None
    violation = node if source.kind is Kind.FAIL_IF else opposite(node)
    return Rule(name=source.name or text, kind=source.kind, text=text, violation=violation, source=source)


class _Place(NamedTuple):
    column: int
    message: str


class _FaultError(Exception):
    """What is wrong, and where; it never leaves this module."""

    def __init__(self, column: int, message: str) -> None:
        super().__init__(message)
        self.place = _Place(column, message)


class _Limit(NamedTuple):
    number: float
    unit: str
    column: int


class _Parser:
    """Reads from left to right; `_at` is where it stands, counted from 0."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def rule(self) -> Node:
        """Return the whole text as one node."""
        node = self._either()
        self._skip_space()
        if self._at < len(self._text):
            raise self._fault("expected 'and', 'or' or the end of the rule")
        return node

    def _either(self) -> Node:
        return self._joined("or", lambda: self._joined("and", self._negation))

    def _joined(self, word: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self._take_word(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Group(word == "and", tuple(parts))

    def _negation(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._fault("nested too deep; make several rules of it")
        try:
            if self._take_word("not"):
                return opposite(self._negation())
            if self._take("("):
                node = self._either()
                self._require(")", "close the bracket with ')'")
                return node
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Node:
        left = self._operand()
        op = self._op()
        right = self._operand()
        if isinstance(left, Call) and isinstance(right, _Limit):
            return Bound(call=left, op=op, limit=right.number, unit=right.unit, column=right.column)
        if isinstance(left, _Limit) and isinstance(right, Call):
            return Bound(call=right, op=op.mirrored, limit=left.number, unit=left.unit, column=left.column)
        message = f"compare a function with a number, such as {_EXAMPLE}"
        raise _FaultError(right.column, message)

    def _op(self) -> Op:
        self._skip_space()
        if found := self._match(_OP):
            return Op(found)
        if _EQUALITY.match(self._text, self._at):
            raise self._fault("an interval can never show that two numbers are equal; use < <= > or >=")
        raise self._fault("expected < <= > or >= and a limit, such as > 5 %")

    def _operand(self) -> Call | _Limit:
        self._skip_space()
        column = self._at + 1
        if number := self._match(_NUMBER):
            if not math.isfinite(float(number)):
                raise _FaultError(column, "a limit must be finite")
            self._skip_space()
            return _Limit(float(number), self._match(_UNIT), column)
        name = self._match(_NAME)
        if not name:
            raise self._fault(f"expected a comparison, such as {_EXAMPLE}")
        known = [str(one) for one in Function]
        if name not in known:
            raise _FaultError(column, f"unknown function {name!r}; {_cure(name, known)}")
        return self._call(Function(name), column)

    def _call(self, function: Function, column: int) -> Call:
        start = column - 1
        self._require("(", f"write {function}(…), with what to select between the brackets")
        foms: list[Selector] = []
        selectors: list[Selector] = []
        while not self._take(")"):
            if (foms or selectors) and not self._take(","):
                raise self._fault("expected ',' or ')'")
            argument = self._argument()
            (foms if argument.name == "fom" else selectors).append(argument)
        self._require_once([*foms, *selectors])
        if foms and len(foms[0].values) > 1:
            raise _FaultError(foms[0].column, "one figure of merit at a time; make several rules of it")
        return Call(
            function=function,
            fom=foms[0].values[0] if foms else None,
            fom_column=foms[0].column if foms else column,
            selectors=tuple(selectors),
            column=column,
            text=self._text[start : self._at],
        )

    def _argument(self) -> Selector:
        self._skip_space()
        column = self._at + 1
        name = self._value("expected name=value, such as network=overlay")
        if not self._take("="):
            return Selector(name="fom", values=(name,), column=column)
        values = [self._value(f"expected a value, such as {name}=…")]
        while self._take("|"):
            values.append(self._value("expected another value after '|'"))
        return Selector(name=name, values=tuple(values), column=column)

    def _require_once(self, arguments: Iterable[Selector]) -> None:
        seen: set[str] = set()
        for one in arguments:
            if one.name in seen:
                raise _FaultError(one.column, f"{one.name} is selected twice; write {one.name}=this|that")
            seen.add(one.name)

    def _value(self, expected: str) -> str:
        self._skip_space()
        found = self._match(_VALUE)
        if not found:
            raise self._fault(expected)
        return found[1:-1] if found[0] in "\"'" else found

    def _take_word(self, word: str) -> bool:
        self._skip_space()
        if re.compile(rf"{word}\b").match(self._text, self._at):
            self._at += len(word)
            return True
        return False

    def _take(self, sign: str) -> bool:
        self._skip_space()
        if self._text.startswith(sign, self._at):
            self._at += len(sign)
            return True
        return False

    def _require(self, sign: str, message: str) -> None:
        if not self._take(sign):
            raise self._fault(message)

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _skip_space(self) -> None:
        self._match(_SPACE)

    def _fault(self, message: str) -> _FaultError:
        return _FaultError(self._at + 1, message)


def _cure(name: str, known: Iterable[str]) -> str:
    near = nearest_name(name, known)
    return f"did you mean {near!r}?" if near else f"choose from {', '.join(known)}"
