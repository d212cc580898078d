"""Read and evaluate conditions such as ``nex % (8 * nproc_xi) == 0``.

They mean what they mean in Python, but Python does not run them.

    term       = arithmetic {comparison arithmetic}
    comparison = "==" | "!=" | "<" | "<=" | ">" | ">=" | ["not"] "in"
    arithmetic = operand {("+" | "-" | "*" | "/" | "//" | "%" | "**") operand}
    operand    = ("-" | "+") operand | number | text | name | "(" condition ")" | list
    list       = "[" [condition {"," condition}] "]", or in round brackets with at least one ","

Terms are joined by logic (see tare.core.expressions). A condition is read once and becomes nested closures,
because a plan evaluates it for every case.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tare.config.faults import shown
from tare.core.errors import Fault, FileFaults
from tare.core.expressions import ExpressionError, Logic
from tare.core.study import Origin
from tare.core.values import Settings

Value = str | int | float | bool | tuple["Value", ...]
_Closure = Callable[[Settings], Value]

_LONGEST = 2000
_MOST_DIGITS = 300
_DEEPEST = 100
_CONSTANTS: Mapping[str, bool] = {"true": True, "false": False, "True": True, "False": False}
_NUMBERS = frozenset((int, float, bool))

_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_COMPARISON = re.compile(r"==|!=|<=|>=|<(?![<>])|>(?!>)|(?:in|is)\b|not\s+in\b")
_ARITHMETIC = re.compile(r"//|\*(?!\*)|[-+/%]")
_OTHER_OPERATOR = re.compile(r"<<|>>|[&|^@]")
_EXAMPLE = "write for example 'nodes >= 2 and size % nodes == 0'"
_ALLOWED = "use and, or, not, comparisons, arithmetic, names, numbers and text in quotes"


class Expression:
    """A condition on a case's settings (core.study.Condition).

    `names` are the settings that it uses. Raises ValueError, with the cure, when `text` is not a condition.
    """

    def __init__(self, text: str, origin: Origin) -> None:
        self.text = text
        self.origin = origin
        if len(text) > _LONGEST:
            raise ValueError(f"the condition has more than {_LONGEST} characters; split it into a list")
        reader = _Reader(" ".join(text.strip().splitlines()))
        try:
            term = reader.whole()
        except ExpressionError as error:
            where = f"at its column {error.column}: " if error.column > 1 else ""
            raise ValueError(f"{shown(text)} is not a condition: {where}{error.message}") from None
        if not term.is_truth:
            raise ValueError(f"{shown(text)} is a value, not a condition; compare it, as in '… == 0'")
        self.names = frozenset(reader.names)
        self._evaluate = term.evaluate

    def holds(self, settings: Settings) -> bool | None:
        """Return whether it holds for `settings`, or None where they lack a name that it needs.

        Raises FileFaults where it cannot be computed, for example a division by zero or text in arithmetic.
        """
        try:
            return bool(self._evaluate(settings))
        except KeyError:
            return None
        except (ArithmeticError, TypeError, ValueError) as error:
            raise FileFaults([self._fault(error, settings)]) from error

    def _fault(self, error: Exception, settings: Settings) -> Fault:
        known = {name: settings[name] for name in sorted(self.names) if name in settings}
        where = ", ".join(f"{name} = {shown(v) if isinstance(v, str) else v}" for name, v in known.items())
        if isinstance(error, ZeroDivisionError):
            message = f"{shown(self.text)} divides by zero; guard it, as in 'n != 0 and m % n == 0'"
        else:
            message = f"{shown(self.text)} cannot be computed: {error}; compare like with like"
        return self.origin.fault(f"{message} (where {where})" if where else message)


class _Term(NamedTuple):
    """A part of a condition, compiled.

    `is_truth` is true if it may be a whole condition. `depth` is how many closures call each other in it.
    """

    evaluate: _Closure
    is_truth: bool = False
    depth: int = 1


class _Reader(Logic[_Term]):
    """Reads a condition (see Logic); `names` are the names found so far."""

    too_deep = "split it into a list"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.names: set[str] = set()

    def term(self) -> _Term:
        """Return a comparison, or a single value."""
        first = self._arithmetic()
        steps: list[tuple[Callable[[Value, Value], bool], _Term]] = []
        while (compare := self._comparison()) is not None:
            steps.append((compare, self._arithmetic()))
        if not steps:
            return first
        return self._made(_compared(first, steps), first, *(other for _, other in steps), is_truth=True)

    def joined(self, parts: list[_Term], *, is_all: bool) -> _Term:
        """Return a term that holds where all of `parts` hold, or any of them."""
        closures, joint = [one.evaluate for one in parts], all if is_all else any
        return self._made(lambda settings: joint(one(settings) for one in closures), *parts, is_truth=True)

    def negated(self, part: _Term) -> _Term:
        """Return a term that holds where `part` does not."""
        evaluate = part.evaluate
        return self._made(lambda settings: not evaluate(settings), part, is_truth=True)

    def stray(self) -> ExpressionError:
        """Return the fault of text at a place where nothing more may follow."""
        return self._unexpected("an operator or the end")

    def _unexpected(self, wanted: str) -> ExpressionError:
        """Return the fault of text where something else is `wanted`, with the cure."""
        rest = self.text[self.at :]
        if rest.startswith(("&&", "||", "!")):
            return self.fault("write 'and', 'or' and 'not'")
        if other := _OTHER_OPERATOR.match(rest):
            return self.fault(f"{other[0]!r} is an operator that is not allowed; use + - * / // % **")
        if rest.startswith("="):
            return self.fault("compare with '=='")
        if word := _NAME.match(rest):
            return self.fault(f"{shown(word[0])} is not allowed in a condition here; {_ALLOWED}")
        return self.fault(f"expected {wanted}; {_EXAMPLE}")

    def _made(self, evaluate: _Closure, *parts: _Term, is_truth: bool = False) -> _Term:
        depth = 1 + max((one.depth for one in parts), default=0)
        if depth > _DEEPEST:
            raise self.fault(f"nested too deep; {self.too_deep}")
        return _Term(evaluate, is_truth, depth=depth)

    def _comparison(self) -> Callable[[Value, Value], bool] | None:
        self.skip_space()
        column = self.column
        sign = " ".join(self.match(_COMPARISON).split())
        if sign == "is":
            raise self.fault("'is' is not allowed in a condition; use '=='", column)
        return _COMPARISONS[sign] if sign else None

    def _arithmetic(self, least: int = 0) -> _Term:
        """Return operands joined by operators of at least the precedence `least` (precedence climbing)."""
        left = self._signed()
        while True:
            self.skip_space()
            before = self.at
            sign = self.match(_ARITHMETIC)
            if not sign or _BINDS[sign] < least:
                self.at = before
                return left
            right = self._arithmetic(_BINDS[sign] + 1)
            left = self._made(_computed(_OPERATORS[sign], left.evaluate, right.evaluate), left, right)

    def _signed(self) -> _Term:
        """Return an operand with its sign; a power binds more closely than the sign, as in Python."""
        if self.take("-"):
            part = self.nested(self._signed)
            return self._made(lambda settings: -_number(part.evaluate(settings)), part)
        if self.take("+"):
            part = self.nested(self._signed)
            return self._made(lambda settings: _number(part.evaluate(settings)), part)
        if self.take("~"):
            raise self.fault("'~' is not allowed in a condition; use 'not'", self.at)
        return self._power(self._operand())

    def _power(self, base: _Term) -> _Term:
        if not self.take("**"):
            return base
        exponent = self.nested(self._signed)
        return self._made(_computed(_power, base.evaluate, exponent.evaluate), base, exponent)

    def _operand(self) -> _Term:
        self.skip_space()
        column = self.column
        if self.take("("):
            return self.nested(lambda: self._in_brackets(")"))
        if self.take("["):
            return self.nested(lambda: self._in_brackets("]"))
        if number := self.match(_NUMBER):
            return self._literal(number, column)
        if text := self.match(_TEXT):
            return self._text(text, column)
        if name := self.match(_NAME):
            return self._name(name, column)
        raise self._unexpected("a name, a number or text")

    def _in_brackets(self, close: str) -> _Term:
        """Return a condition in brackets, or a list."""
        items: list[_Term] = []
        is_list = close == "]"
        while not self.take(close):
            if items and not self.take(","):
                raise self.stray()
            is_list = is_list or bool(items)
            if items and self.take(close):
                break
            items.append(self.either())
        if not is_list and items:
            return items[0]
        return self._made(lambda settings: tuple(one.evaluate(settings) for one in items), *items)

    def _literal(self, number: str, column: int) -> _Term:
        if _NAME.match(self.text, self.at):
            if self.match(re.compile(r"[jJ]\b")):
                raise self.fault("a complex number is neither a number nor text; use one of them", column)
            raise self.fault("write numbers without units: 65536, not 64KiB", column)
        try:
            value = _value_of(number)
        except ValueError:
            raise self.fault(f"{shown(number)} is no number", column) from None
        if not math.isfinite(value):
            raise self.fault("a number is too large; use a finite one", column)
        return _Term(lambda settings: value)

    def _text(self, text: str, column: int) -> _Term:
        try:
            value = str(ast.literal_eval(text))
        except (SyntaxError, ValueError):
            raise self.fault("text with an escape that means nothing, or a NUL", column) from None
        return _Term(lambda settings: value)

    def _name(self, name: str, column: int) -> _Term:
        if name in _CONSTANTS:
            constant = _CONSTANTS[name]
            return _Term(lambda settings: constant, is_truth=True)
        if name == "None":
            raise self.fault("'None' is neither a number nor text; use one of them", column)
        after = self.text[self.at : self.at + 1]
        if after == ".":
            raise self.fault(
                f"{shown(name + '.')} is not allowed in a condition; put text that holds a dot in quotes",
                column,
            )
        if keyword.iskeyword(name) or (after and after in "(['\""):
            raise self.fault(f"{shown(name + after)} is not allowed in a condition; {_ALLOWED}", column)
        self.names.add(name)
        return _Term(lambda settings: settings[name], is_truth=True)


def _value_of(number: str) -> int | float:
    """Return a number as Python reads it: 007 is not a valid whole number. Raises ValueError."""
    is_whole = number[:2] in ("0x", "0X") or number.replace("_", "").isdigit()
    return int(number, 0) if is_whole else float(number)


def _compared(first: _Term, steps: list[tuple[Callable[[Value, Value], bool], _Term]]) -> _Closure:
    start = first.evaluate
    if len(steps) == 1:
        only, other = steps[0][0], steps[0][1].evaluate
        return lambda settings: only(start(settings), other(settings))

    def evaluate(settings: Settings) -> Value:
        left = start(settings)
        for compare, operand in steps:
            right = operand.evaluate(settings)
            if not compare(left, right):
                return False
            left = right
        return True

    return evaluate


def _computed(compute: Callable[..., float], left: _Closure, right: _Closure) -> _Closure:
    def evaluate(settings: Settings) -> Value:
        a, b = left(settings), right(settings)
        if type(a) in _NUMBERS and type(b) in _NUMBERS:
            return compute(a, b)
        raise TypeError(f"{_described(a)} and {_described(b)} in arithmetic")

    return evaluate


def _is_in(item: Value, group: Value) -> bool:
    if isinstance(group, tuple):
        return item in group
    if isinstance(group, str) and isinstance(item, str):
        return item in group
    raise TypeError(f"{_described(item)} looked for in {_described(group)}")


def _power(base: float, exponent: float) -> float:
    """Return base ** exponent, bounded: the text comes from a file, and 9**9**9 would never finish."""
    if base and abs(exponent) * math.log10(max(abs(base), 1 / abs(base), 1)) > _MOST_DIGITS:
        raise OverflowError("the power is too large")
    if base < 0 and not float(exponent).is_integer():
        raise ValueError("a negative number has no such power")
    power: float = base**exponent
    return power


def _number(value: Value) -> float:
    if type(value) in _NUMBERS and isinstance(value, (int, float)):
        return value
    raise TypeError(f"{_described(value)} in arithmetic")


def _described(value: Value) -> str:
    if isinstance(value, tuple):
        return "a list"
    return f"text {shown(value)}" if isinstance(value, str) else str(value)


_BINDS = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2}
"""The precedence of the operators; a power is read together with its base."""

_OPERATORS: Mapping[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}

_COMPARISONS: Mapping[str, Callable[..., bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": _is_in,
    "not in": lambda item, group: not _is_in(item, group),
}
