"""Conditions such as ``nex % (8 * nproc_xi) == 0``: parsed as Python, but never run by it.

Only logic, comparisons, arithmetic on numbers, names and literals are allowed. An expression is
compiled once into nested closures, since a plan asks it about every case.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping

from tare.config.faults import shown
from tare.errors import Fault, FileFaults
from tare.model.study import Origin
from tare.model.values import Settings

Value = str | int | float | bool | tuple["Value", ...]
_Closure = Callable[[Settings], Value]

_LONGEST = 2000
_MOST_DIGITS = 300
_DEEPEST = 100
_TOO_DEEP = "the condition is nested too deep; split it into a list"
_SINGLE_EQUALS = re.compile(r"(?<![=!<>])=(?!=)")
_CONSTANTS: Mapping[str, bool] = {"true": True, "false": False}
_NUMBERS = frozenset((int, float, bool))


class Expression:
    """A condition on a case's settings (model.study.Condition).

    `names` are the settings that it speaks of. Raises ValueError, with the cure, when `text` is none.
    """

    def __init__(self, text: str, origin: Origin) -> None:
        self.text = text
        self.origin = origin
        tree = _parse(text)
        self.names = frozenset(
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id not in _CONSTANTS
        )
        self._evaluate = _compile(tree)
        if not _is_condition(tree):
            raise ValueError(f"{shown(text)} is a value, not a condition; compare it, as in '… == 0'")

    def holds(self, settings: Settings) -> bool | None:
        """Return whether it holds for `settings`, or None where they lack a name that it needs.

        Raises FileFaults where it cannot be computed: a division by zero, a text in arithmetic.
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
        place = self.origin
        return Fault(place.file, place.line, place.column, place.path, f"{message} (where {where})")


def _parse(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError(f"the condition has more than {_LONGEST} characters; split it into a list")
    try:
        with warnings.catch_warnings():  # Python warns of doubtful literals; to us they are text
            warnings.simplefilter("ignore")
            tree = ast.parse(" ".join(text.strip().splitlines()), mode="eval").body
        _check_depth(tree)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{shown(text)} is not a condition: {_syntax_cure(text, error)}") from None
    except (RecursionError, MemoryError):
        raise ValueError(_TOO_DEEP) from None
    return tree


def _check_depth(tree: ast.expr) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise RecursionError


def _syntax_cure(text: str, error: Exception) -> str:
    if "&&" in text or "||" in text or "!" in text.replace("!=", ""):
        return "write 'and', 'or' and 'not'"
    problem = error.msg if isinstance(error, SyntaxError) else str(error)
    if "decimal literal" in problem:
        return "write numbers without units: 65536, not 64KiB"
    if _SINGLE_EQUALS.search(text):
        return "compare with '=='"
    return f"{problem}; write for example 'nodes >= 2 and size % nodes == 0'"


def _is_condition(tree: ast.expr) -> bool:
    if isinstance(tree, ast.UnaryOp):
        return isinstance(tree.op, ast.Not)
    if isinstance(tree, ast.Constant):
        return isinstance(tree.value, bool)
    return isinstance(tree, (ast.BoolOp, ast.Compare, ast.Name))


def _compile(node: ast.expr) -> _Closure:
    compiler = _COMPILERS.get(type(node))
    if compiler is None:
        raise ValueError(f"{shown(ast.unparse(node))} is not allowed in a condition; {_refusal_cure(node)}")
    return compiler(node)


def _refusal_cure(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return "put text that holds a dot in quotes"
    return "use and, or, not, comparisons, arithmetic, names, numbers and text in quotes"


def _constant(node: ast.Constant) -> _Closure:
    value = node.value
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"{shown(ast.unparse(node))} is neither a number nor text; use one of them")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is too large; use a finite one")
    return lambda settings: value


def _name(node: ast.Name) -> _Closure:
    name = node.id
    if name in _CONSTANTS:
        constant = _CONSTANTS[name]
        return lambda settings: constant
    return lambda settings: settings[name]


def _sequence(node: ast.List | ast.Tuple) -> _Closure:
    items = [_compile(item) for item in node.elts]
    if all(isinstance(item, ast.Constant) for item in node.elts):
        constant = tuple(item({}) for item in items)
        return lambda settings: constant
    return lambda settings: tuple(item(settings) for item in items)


def _logic(node: ast.BoolOp) -> _Closure:
    parts = [_compile(part) for part in node.values]
    if isinstance(node.op, ast.And):
        return lambda settings: all(part(settings) for part in parts)
    return lambda settings: any(part(settings) for part in parts)


def _unary(node: ast.UnaryOp) -> _Closure:
    operand = _compile(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda settings: not operand(settings)
    if isinstance(node.op, ast.USub):
        return lambda settings: -_number(operand(settings))
    if isinstance(node.op, ast.UAdd):
        return lambda settings: _number(operand(settings))
    raise ValueError("'~' is not allowed in a condition; use 'not'")


def _binary(node: ast.BinOp) -> _Closure:
    compute = _ARITHMETIC.get(type(node.op))
    if compute is None:
        raise ValueError(
            f"{shown(ast.unparse(node))} has an operator that is not allowed; use + - * / // % **"
        )
    left, right = _compile(node.left), _compile(node.right)

    def evaluate(settings: Settings) -> Value:
        a, b = left(settings), right(settings)
        if type(a) in _NUMBERS and type(b) in _NUMBERS:
            return compute(a, b)
        raise TypeError(f"{_described(a)} and {_described(b)} in arithmetic")

    return evaluate


def _compare(node: ast.Compare) -> _Closure:
    first = _compile(node.left)
    steps = [(_comparison(op), _compile(other)) for op, other in zip(node.ops, node.comparators, strict=True)]
    if len(steps) == 1:
        only, other = steps[0]
        return lambda settings: only(first(settings), other(settings))

    def evaluate(settings: Settings) -> Value:
        left = first(settings)
        for compare, operand in steps:
            right = operand(settings)
            if not compare(left, right):
                return False
            left = right
        return True

    return evaluate


def _comparison(op: ast.cmpop) -> Callable[[Value, Value], bool]:
    if type(op) not in _COMPARISONS:
        raise ValueError("'is' is not allowed in a condition; use '=='")
    return _COMPARISONS[type(op)]


def _is_in(item: Value, group: Value) -> bool:
    if isinstance(group, tuple):
        return item in group
    if isinstance(group, str) and isinstance(item, str):
        return item in group
    raise TypeError(f"{_described(item)} looked for in {_described(group)}")


def _power(base: float, exponent: float) -> float:
    """Return base ** exponent, bounded: the text comes from a file, and 9**9**9 would never end."""
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


_ARITHMETIC: Mapping[type[ast.operator], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}

_COMPARISONS: Mapping[type[ast.cmpop], Callable[..., bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: _is_in,
    ast.NotIn: lambda item, group: not _is_in(item, group),
}

_COMPILERS: Mapping[type[ast.expr], Callable[..., _Closure]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.BoolOp: _logic,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
}
