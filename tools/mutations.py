"""The mutants of a file: one small change each, as a slip would make it, in the text between two positions."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

COMPARED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
CALCULATED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
RETURNED = {
    "bool": "not ({})", "int": "({}) + 1", "float": "({}) + 1", "str": '""', "list": "[]", "dict": "{{}}",
    "tuple": "()", "Sequence": "()", "Mapping": "{{}}", "set": "set()",
}  # fmt: skip
"""What a function returns in place of a value, by the first word of its annotation; others return None."""
UNSEEN = ("annotation", "returns", "decorator_list", "type_params", "bases")
"""Fields of a node in which nothing is changed: what they say is for mypy, or is read once at import."""
TYPING = ("Literal", "cast", "TypeVar", "NewType", "ParamSpec")
REMOVED = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)


@dataclass(frozen=True)
class Change:
    """Bytes `start` to `end` of a file become `text`."""

    operator: str
    line: int
    start: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        """The file with this change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def _with(node: ast.expr | ast.stmt, **fields: object) -> str:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    text = ast.unparse(changed)
    return f"({text})" if isinstance(node, ast.expr) else text


def _hidden(node: ast.AST) -> bool:
    """Whether nothing below a node is changed: docstrings, pieces of f-strings (whose positions Python 3.11 does not
    know), what only type checkers run, and the list of public names."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign | ast.If):
        return ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.test) in (
            "__all__",
            "TYPE_CHECKING",
        )
    called = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else None
    return called is not None and ast.unparse(called) in TYPING


def _of_constant(node: ast.Constant) -> Iterator[tuple[str, str]]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", str(not value)
    elif isinstance(value, int):
        yield "off by one", str(value + 1)
        yield "off by one", f"({value - 1})"
    elif isinstance(value, float):
        yield "constant", repr(value * 2 + 1)
    elif isinstance(value, str):
        yield "constant", '""' if value else '"mutant"'


def _of_expression(node: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Constant):
        yield from _of_constant(node)
    elif isinstance(node, ast.Compare):
        yield "comparison", _with(node, ops=[COMPARED[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.BinOp) and type(node.op) in CALCULATED:
        yield "arithmetic", _with(node, op=CALCULATED[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "not" if isinstance(node.op, ast.Not) else "arithmetic", f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.BoolOp):
        yield "boolean", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _of_statement(node: ast.stmt, returns: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Return) and node.value is not None:
        first = returns.partition("[")[0].strip("'\"")
        yield "return value", "return " + RETURNED.get(first, "None").format(ast.unparse(node.value))
    if isinstance(node, ast.AugAssign) and type(node.op) in CALCULATED:
        yield "arithmetic", _with(node, op=CALCULATED[type(node.op)]())
    inner = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    if inner or isinstance(node, REMOVED) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "removed statement", "pass"


def _asked(node: ast.AST) -> list[ast.expr]:
    """Conditions that stand alone: others change by their comparison, `not`, `and` or `or`."""
    tests = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else getattr(node, "ifs", [])
    return [test for test in tests if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp)]


def changes(source: bytes) -> list[Change]:
    """All changes of a file, in the order of their operators and places."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: set[Change] = set()

    def add(node: ast.expr | ast.stmt, operator: str, text: str) -> None:
        assert node.end_lineno is not None and node.end_col_offset is not None
        first, last = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        found.add(Change(operator, node.lineno, first, last, text))

    def visit(node: ast.AST, returns: str) -> None:
        if _hidden(node):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            returns = ast.unparse(node.returns) if node.returns else ""
        if isinstance(node, ast.expr | ast.stmt):
            of = _of_expression(node) if isinstance(node, ast.expr) else _of_statement(node, returns)
            for operator, text in of:
                add(node, operator, text)
        for test in _asked(node):
            add(test, "not", f"(not ({ast.unparse(test)}))")
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if name not in UNSEEN and isinstance(child, ast.AST):
                    visit(child, returns)

    visit(ast.parse(source), "")
    return sorted(found, key=lambda one: (one.operator, one.start, one.text))


def _behaviour(code: CodeType) -> CodeType:
    """Code without its places in the file."""
    constants = tuple(_behaviour(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=constants, co_linetable=b"", co_firstlineno=1)


def is_other_code(before: bytes, after: bytes) -> bool:
    """Whether a changed file can be compiled, and to other bytecode."""
    try:
        one, other = (compile(source, "file", "exec", dont_inherit=True) for source in (before, after))
    except SyntaxError:
        return False
    return _behaviour(one) != _behaviour(other)


def draw_change(source: bytes, seed: str) -> Change | None:
    """A change drawn by a seed: first its operator, then its place; None in a file that has none."""
    chance, left = random.Random(seed), changes(source)
    while left:
        operator = chance.choice(sorted({one.operator for one in left}))
        drawn = chance.choice([one for one in left if one.operator == operator])
        if is_other_code(source, drawn.apply(source)):
            return drawn
        left.remove(drawn)
    return None
