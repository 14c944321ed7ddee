"""The definitions of this package that a task's hooks reach, in a form that only a change of what they do changes."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "lmms_eval_tasks"
CARRIERS = frozenset(
    f"{PACKAGE}.{name}" for name in ("hosting", "utils.home", "utils.manifest", "utils.problems", "utils.submissions")
)
"""Modules that carry data to scoring or its results to files: a change of theirs changes no number."""
IGNORED_FIELDS = frozenset({"ctx", "kind", "returns", "type_comment", "type_params"})
FACTS = "Card"
"""What a benchmark's facts are made by. They are told and compared with; no score is made from them."""


@dataclass(frozen=True, order=True)
class Symbol:
    """A name at the top of one of our modules; ``*`` for what a module does beside binding names."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module.removeprefix(f'{PACKAGE}.')}:{self.name}"


EFFECTS = "*"


class Module:
    """What a module of ours binds at its top.

    Attributes:
        name: Dotted name.
        definitions: Name to the statements that bind or change it.
        imports: Name to the dotted name that it is imported from.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.definitions: dict[str, list[ast.stmt]] = {}
        self.imports: dict[str, str] = {}
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise LookupError(f"Expected a module {name}, but there is none.")
        for statement in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
            self._add(statement)

    @cached_property
    def names(self) -> Mapping[str, Symbol | str]:
        """What each of its names stands for."""
        own: dict[str, Symbol | str] = {name: Symbol(self.name, name) for name in self.definitions}
        return own | {name: resolve(origin) for name, origin in self.imports.items()}

    def _add(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            self.imports |= imported(statement, self.name)
        elif not _is_text(statement) and not _is_for_types(statement):
            for inner in ast.walk(statement) if isinstance(statement, (ast.If, ast.Try)) else ():
                if isinstance(inner, (ast.Import, ast.ImportFrom)):
                    self.imports |= imported(inner, self.name)
            for name in _bound(statement) or {EFFECTS}:
                self.definitions.setdefault(name, []).append(statement)


@cache
def read_module(name: str) -> Module:
    """A module of ours, parsed once."""
    return Module(name)


@cache
def is_module(name: str) -> bool:
    """Whether a dotted name is that of a module of ours."""
    if name != PACKAGE and not name.startswith(f"{PACKAGE}."):
        return False
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def imported(statement: ast.Import | ast.ImportFrom, module: str) -> dict[str, str]:
    """Name to dotted origin of what a statement imports into a module."""
    if isinstance(statement, ast.Import):
        return {
            name.asname or name.name.partition(".")[0]: name.name if name.asname else name.name.partition(".")[0]
            for name in statement.names
        }
    parents = module.split(".")[: -statement.level] if statement.level else []
    origin = ".".join([*parents, *filter(None, [statement.module])])
    return {name.asname or name.name: f"{origin}.{name.name}" for name in statement.names}


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_for_types(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Name)
        and statement.test.id == "TYPE_CHECKING"
        and not statement.orelse
    )


def _bound(statement: ast.stmt) -> set[str]:
    """Names that a statement at the top of a module binds, or whose value it changes by an index or attribute."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    found = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return found | {node.name for node in ast.walk(statement) if isinstance(node, kinds)}


@cache
def resolve(origin: str) -> Symbol | str:
    """What a dotted name of an import stands for: a name in one of our modules, or a module or name as it is."""
    seen = set()
    while origin not in seen and origin.startswith(f"{PACKAGE}.") and not is_module(origin):
        seen.add(origin)
        parent, _, name = origin.rpartition(".")
        if not is_module(parent):
            return origin
        module = read_module(parent)
        if name not in module.imports:
            return Symbol(parent, name)
        origin = module.imports[name]
    return origin


class Source:
    """All that some functions reach.

    Args:
        roots: Dotted names of the functions.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        self.roots = tuple(roots)
        self.symbols: set[Symbol] = set()
        waiting = [found for root in self.roots if isinstance(found := resolve(root), Symbol)]
        while waiting:
            symbol = waiting.pop()
            if symbol in self.symbols or symbol.module in CARRIERS:
                continue
            definitions = read_module(symbol.module).definitions
            if symbol.name not in definitions:
                continue
            self.symbols.add(symbol)
            if EFFECTS in definitions:
                waiting.append(Symbol(symbol.module, EFFECTS))
            if not self._is_facts(symbol):
                waiting += self._references(symbol)

    @property
    def modules(self) -> set[str]:
        """Modules that hold any of it."""
        return {symbol.module for symbol in self.symbols}

    def texts(self, within: str) -> Iterator[str]:
        """Every text constant in those definitions whose module's name begins so."""
        for symbol in self.symbols:
            if not symbol.module.startswith(within):
                continue
            for statement in read_module(symbol.module).definitions[symbol.name]:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        yield node.value

    def digests(self) -> dict[Symbol, str]:
        """Of every definition, the SHA-256 of what it does: formatting, comments, docstrings, the type hints of
        functions and the module that it stands in do not count."""
        return {
            symbol: hashlib.sha256(self._text(symbol).encode()).hexdigest()
            for symbol in sorted(self.symbols)
            if not self._is_facts(symbol)
        }

    def sha256(self) -> str:
        """SHA-256 of all of it; the order of definitions does not count."""
        called = [self.label(found) if isinstance(found := resolve(root), Symbol) else found for root in self.roots]
        return hashlib.sha256("\n".join([*called, *sorted(self.digests().values())]).encode()).hexdigest()

    def label(self, symbol: Symbol) -> str:
        """A definition's name, with its module where another of that name is reached too."""
        return str(symbol) if self._named[symbol.name] > 1 else symbol.name

    @cached_property
    def _named(self) -> Counter[str]:
        return Counter(symbol.name for symbol in self.symbols)

    def _is_facts(self, symbol: Symbol) -> bool:
        statement, *more = read_module(symbol.module).definitions[symbol.name]
        value = getattr(statement, "value", None)
        return not more and isinstance(value, ast.Call) and getattr(value.func, "id", None) == FACTS

    def _references(self, symbol: Symbol) -> Iterator[Symbol]:
        module = read_module(symbol.module)
        for statement in module.definitions[symbol.name]:
            names = _names_in(module, statement)
            # `module.name` is a reference to that name; a module by itself may be asked for any of its names.
            owners = {id(node.value) for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
            for node in _walk_code(statement):
                found = _meaning(node, names)
                if isinstance(found, Symbol):
                    yield found
                elif found is not None and id(node) not in owners and is_module(found):
                    yield from (Symbol(found, name) for name in read_module(found).definitions)

    def _text(self, symbol: Symbol) -> str:
        module = read_module(symbol.module)
        return "\n".join(
            self._dump(statement, _names_in(module, statement)) for statement in module.definitions[symbol.name]
        )

    def _dump(self, value: object, names: Mapping[str, Symbol | str]) -> str:
        """A syntax tree as text, the same for every version of Python: what is empty is left out."""
        if isinstance(value, list):
            return f"[{' '.join(self._dump(item, names) for item in value if not _is_import(item))}]"
        if isinstance(value, ast.Constant):
            # What counts as printable differs between versions of Python.
            return f"{type(value.value).__name__}:{value.value!a}"
        if not isinstance(value, ast.AST):
            return repr(value)
        if isinstance(value, (ast.Name, ast.Attribute)) and (found := _meaning(value, names)) is not None:
            return f"<{self.label(found) if isinstance(found, Symbol) else found}>"
        fields = []
        for name, part in ast.iter_fields(value):
            if name in IGNORED_FIELDS or part is None or part == [] or (name, type(value)) == ("annotation", ast.arg):
                continue
            if name == "body" and isinstance(part, list):
                part = [item for item in part if not _is_text(item)] or [ast.Pass()]
            fields.append(f"{name}={self._dump(part, names)}")
        return f"({type(value).__name__} {' '.join(fields)})"


def _is_import(node: object) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _names_in(module: Module, statement: ast.stmt) -> Mapping[str, Symbol | str]:
    """What the names stand for that a statement can use: those of its module, and what it imports itself."""
    own: dict[str, Symbol | str] = {}
    for node in ast.walk(statement):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            own |= {name: resolve(origin) for name, origin in imported(node, module.name).items()}
    return {**module.names, **own} if own else module.names


def _meaning(node: ast.AST, names: Mapping[str, Symbol | str]) -> Symbol | str | None:
    """What a name, or an attribute of a module of ours, stands for; None for local and built-in names."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _meaning(node.value, names)
        if isinstance(owner, str) and is_module(owner):
            return resolve(f"{owner}.{node.attr}")
    return None


def _walk_code(node: ast.AST) -> Iterator[ast.expr]:
    """Every expression in it but the type hints of functions."""
    if isinstance(node, ast.expr):
        yield node
    for name, part in ast.iter_fields(node):
        if name == "returns" or (name == "annotation" and isinstance(node, ast.arg)):
            continue
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST):
                yield from _walk_code(child)
