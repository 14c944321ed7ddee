"""Move modules and top-level names of the package, and rewrite what imports or names them.

    python tools/move.py lmms_eval_tasks/utils/one.py lmms_eval_tasks/utils/core/other.py
    python tools/move.py lmms_eval_tasks/utils/one.py:first_name,second_name lmms_eval_tasks/utils/core/other.py
    python tools/move.py --plan moves.tsv

A module that moves to a file that is there is merged into it. A line of a plan is a source as above, a tab, and its
target; what a plan does not name stays. Code moves as it is, with these exceptions: a private name goes with the moved
names that alone use it, and is renamed by its module where the target has such a name; of two docstrings the target's
stays, and the other is printed. Imports, dotted names (`!function`, entry points, strings of tests) and paths in
documentation follow.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.helpers import get_full_name_for_node, parse_template_expression
from libcst.metadata import GlobalScope, MetadataWrapper, ParentNodeProvider, ScopeProvider

TOP = Path(__file__).resolve().parents[1]
PACKAGE = "lmms_eval_tasks"
TEXTS = ("*.py", "*.md", "*.yaml", "*_yaml", "*.toml", "*.cfg", "*.json", "*.sh", "Makefile")
REST = ""
"""The key of all that a plan does not name of a module that it splits."""

Name = tuple[str, str]
"""A module's dotted name, and one of its top-level names; the empty name is the module itself."""


@dataclass(frozen=True)
class Imported:
    """What an import binds: a name of a module, or a module where `name` is empty."""

    module: str
    name: str
    typing_only: bool = False


@dataclass(eq=False)
class Chunk:
    """A top-level statement, with the strings and calls that follow it."""

    names: frozenset[str]
    statements: list[cst.BaseStatement] = field(default_factory=list)


class Module:
    """A file of code, as chunks and imports."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self.wrapper = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")))
        self.tree = self.wrapper.module
        self.imports: dict[str, Imported] = {}
        self.import_nodes: list[tuple[cst.CSTNode, bool]] = []
        self.docstring: cst.BaseStatement | None = None
        self.chunks: list[Chunk] = []
        for place, statement in enumerate(self.tree.body):
            if place == 0 and self.tree.get_docstring() is not None:
                self.docstring = statement
            elif not self._read_imports(statement, typing_only=False):
                self._read_chunk(statement)

    def _read_imports(self, statement: cst.BaseStatement, *, typing_only: bool) -> bool:
        if isinstance(statement, cst.If) and get_full_name_for_node(statement.test) == "TYPE_CHECKING":
            for inner in statement.body.body:
                assert isinstance(inner, cst.BaseStatement)
                self._read_imports(inner, typing_only=True)
            return True
        found = import_of(statement)
        if found:
            self.imports |= dict(read_import(found, typing_only=typing_only))
        return found is not None

    def _read_chunk(self, statement: cst.BaseStatement) -> None:
        names = frozenset(bound_names(statement))
        if names or not self.chunks:
            self.chunks.append(Chunk(names))
        self.chunks[-1].statements.append(statement)

    @property
    def names(self) -> set[str]:
        """The names that the module defines."""
        return {name for chunk in self.chunks for name in chunk.names}

    @cached_property
    def global_scope(self) -> GlobalScope:
        """What the module binds at its top level, and where it is used."""
        scope = self.wrapper.resolve(ScopeProvider)[self.tree]
        assert isinstance(scope, GlobalScope)
        return scope

    @cached_property
    def parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        """Of each node the one that holds it."""
        return self.wrapper.resolve(ParentNodeProvider)

    @cached_property
    def bound_anywhere(self) -> set[str]:
        """Every name that any scope of the module binds."""
        scopes = {scope for scope in self.wrapper.resolve(ScopeProvider).values() if scope is not None}
        return {assignment.name for scope in scopes for assignment in scope.assignments}

    def uses(self, name: str) -> list[cst.CSTNode]:
        """The nodes that use or bind a top-level name."""
        found: list[cst.CSTNode] = []
        for assignment in self.global_scope[name]:
            found += [access.node for access in assignment.references]
        return found

    def chunk_of(self, node: cst.CSTNode) -> Chunk | None:
        """The chunk that holds a node; None for an import."""
        while node in self.parents and self.parents[node] is not self.tree:
            node = self.parents[node]
        return next((chunk for chunk in self.chunks if node in chunk.statements), None)


def bound_names(statement: cst.BaseStatement) -> Iterable[str]:
    """The names that a top-level statement binds."""
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        yield statement.name.value
    elif isinstance(statement, cst.SimpleStatementLine):
        for small in statement.body:
            targets = [target.target for target in small.targets] if isinstance(small, cst.Assign) else []
            if isinstance(small, cst.AnnAssign | cst.TypeAlias):
                targets = [small.target if isinstance(small, cst.AnnAssign) else small.name]
            for target in targets:
                elements = [one.value for one in target.elements] if isinstance(target, cst.Tuple) else [target]
                yield from (one.value for one in elements if isinstance(one, cst.Name))
    elif isinstance(statement, cst.If | cst.Try) and isinstance(statement.body, cst.IndentedBlock):
        for inner in statement.body.body:
            if isinstance(inner, cst.BaseStatement):
                yield from bound_names(inner)


def import_of(statement: cst.CSTNode) -> cst.Import | cst.ImportFrom | None:
    """The import that a statement is; None where it is none."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and statement.body else None
    return small if isinstance(small, cst.Import | cst.ImportFrom) else None


def read_import(node: cst.CSTNode, *, typing_only: bool = False) -> Iterable[tuple[str, Imported]]:
    """The names that an import binds, and what they are."""
    if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
        module = get_full_name_for_node(node.module) if node.module else ""
        for alias in node.names:
            name = str(alias.evaluated_name)
            yield alias.evaluated_alias or name, Imported(module or "", name, typing_only)
    elif isinstance(node, cst.Import):
        for alias in node.names:
            name = str(alias.evaluated_name)
            yield alias.evaluated_alias or name.partition(".")[0], Imported(name, "", typing_only)


class Plan:
    """Where every name of the modules that move has its new place."""

    def __init__(self, lines: Sequence[tuple[str, str]]) -> None:
        self.modules = {name: path for path in sorted((TOP / PACKAGE).rglob("*.py")) if (name := dotted(path))}
        self.paths = dict(self.modules)
        self.targets: dict[str, dict[str, str]] = defaultdict(dict)
        """Of each module that moves, the target of each of its names that are moved alone, and of the rest."""
        for source, target in lines:
            path, _, names = source.partition(":")
            for name in names.split(",") if names else [REST]:
                self.targets[dotted(TOP / path)][name.strip()] = dotted(TOP / target)
            self.paths[dotted(TOP / target)] = TOP / target
        self.read: dict[str, Module] = {}
        self.renamed: dict[Name, str] = {}
        missing = [
            f"{module} defines no {name}"
            for module, names in self.targets.items()
            for name in names
            if module not in self.modules or (name != REST and name not in self.module(module).names)
        ]
        if missing:
            sys.exit("\n".join(missing))
        for module, targets in self.targets.items():
            if set(targets) != {REST}:
                self._take_along(self.module(module), targets)

    def _take_along(self, module: Module, targets: dict[str, str]) -> None:
        """Let a private name follow where all that use it go to one place."""
        private = [name for name in module.names if name.startswith("_") and name not in targets]
        users = {
            name: {chunk for node in module.uses(name) if (chunk := module.chunk_of(node)) and name not in chunk.names}
            for name in private
        }
        for _ in private:
            for name in private:
                places = {self.place(module.name, one) for chunk in users[name] for one in chunk.names or {REST}}
                if len(places) == 1 and places != {self.place(module.name)}:
                    targets[name] = places.pop()

    def module(self, name: str) -> Module:
        """A module of the package, read once."""
        if name not in self.read:
            self.read[name] = Module(name, self.modules[name])
        return self.read[name]

    def place(self, module: str, name: str = REST) -> str:
        """The module in which a name of a module is from now on."""
        targets = self.targets.get(module, {})
        return targets.get(name) or targets.get(REST) or module

    def find(self, imported: Imported) -> Imported:
        """What an import names, from where it will be."""
        module, name = imported.module, imported.name
        if name and f"{module}.{name}" in self.modules:
            module, name = f"{module}.{name}", ""
        if not name or module not in self.targets:
            return Imported(self.place(module), name, imported.typing_only)
        if name not in self.module(module).names and name in self.module(module).imports:
            return self.find(self.module(module).imports[name])
        return Imported(self.place(module, name), self.renamed.get((module, name), name), imported.typing_only)

    @cached_property
    def written(self) -> dict[str, list[tuple[Module, list[Chunk]]]]:
        """Of each target, the chunks of each of its sources, a source that another needs first."""
        parts: dict[str, dict[str, list[Chunk]]] = defaultdict(lambda: defaultdict(list))
        touched = set(self.targets) | {target for names in self.targets.values() for target in names.values()}
        for name in sorted(touched & set(self.modules), key=list(self.modules).index):
            for chunk in self.module(name).chunks:
                places = {self.place(name, one) for one in chunk.names} or {self.place(name)}
                if len(places) > 1:
                    sys.exit(f"{name}: {', '.join(sorted(chunk.names))} are one statement; move them together")
                parts[places.pop()][name].append(chunk)
            parts[self.place(name)][name] += []
        return {target: self._in_order(target, sources) for target, sources in parts.items()}

    def _in_order(self, target: str, sources: Mapping[str, list[Chunk]]) -> list[tuple[Module, list[Chunk]]]:
        needs = {
            name: {
                imported.module if imported.module in sources else f"{imported.module}.{imported.name}"
                for imported in self.module(name).imports.values()
                if not imported.typing_only
            }
            & set(sources) - {name}
            for name in sorted(sources, key=lambda name: (name != target, name))
        }
        try:
            order = list(TopologicalSorter(needs).static_order())
        except CycleError as error:
            sys.exit(f"{target}: its sources import each other: {error.args[1]}")
        return [(self.module(name), sources[name]) for name in order]

    def rename_collisions(self) -> None:
        """Rename private names that two sources of one target define; others have to be renamed by hand before."""
        problems = []
        for target, parts in self.written.items():
            owners: dict[str, str] = {}
            for module, chunks in sorted(parts, key=lambda part: part[0].name != target):
                for name in sorted(name for chunk in chunks for name in chunk.names):
                    if name not in owners:
                        owners[name] = module.name
                    elif name.startswith("_"):
                        self.renamed[module.name, name] = f"_{module.path.stem}{name}"
                    else:
                        problems.append(f"{target}: both {owners[name]} and {module.name} define {name}")
        if problems:
            sys.exit("\n".join(problems))


class Replace(cst.CSTTransformer):
    """Puts other nodes in the place of some."""

    def __init__(self, replacements: Mapping[cst.CSTNode, Any]) -> None:
        super().__init__()
        self._replacements = replacements

    def on_leave(self, original: cst.CSTNodeT, updated: cst.CSTNodeT) -> Any:
        """Return a node's replacement, or the node with those of its children."""
        return self._replacements.get(original, super().on_leave(original, updated))


def rewrite(
    plan: Plan, module: Module, chunks: Sequence[Chunk] | None, target: str
) -> tuple[Replace, dict[str, Imported]]:
    """The changes to a module's code, or to some chunks of it, in `target`, and what they import at the top."""
    replacements: dict[cst.CSTNode, Any] = {}
    needed: dict[str, Imported] = {}

    def included(node: cst.CSTNode) -> bool:
        return chunks is None or module.chunk_of(node) in chunks

    for name in module.names:
        place = plan.place(module.name, name)
        new = plan.renamed.get((module.name, name), name)
        for node in module.uses(name) if chunks is not None else []:
            if not included(node):
                continue
            if place != target:
                needed[name] = Imported(place, new)
            elif new != name:
                replacements[node] = cst.Name(new)
        if new != name and chunks is not None:
            for statement in (one for chunk in chunks if name in chunk.names for one in chunk.statements):
                rename_definition(statement, name, new, replacements)
    for binding, imported in module.imports.items():
        found = plan.find(imported)
        nodes = [node for node in module.uses(binding) if included(node)]
        exported = chunks is None and not nodes
        if not nodes and not exported:
            continue
        whole = f"{imported.module}.{imported.name}" if imported.name else imported.module
        if whole in plan.targets and not found.name:
            nodes = follow_alias(plan, module, whole, nodes, target, replacements, needed)
            if not nodes and not exported:
                continue
        if found.module == target and found.name:
            replacements |= {node: cst.Name(found.name) for node in nodes if found.name != binding}
        else:
            needed[binding] = found
    rewrite_inner_imports(plan, module, target, replacements)
    return Replace(replacements), needed


def rename_definition(statement: cst.BaseStatement, name: str, new: str, replacements: dict[cst.CSTNode, Any]) -> None:
    """Give a definition another name."""
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        replacements[statement.name] = cst.Name(new)
    elif isinstance(statement, cst.SimpleStatementLine):
        for small in statement.body:
            targets = [one.target for one in small.targets] if isinstance(small, cst.Assign) else []
            targets += [small.target] if isinstance(small, cst.AnnAssign) else []
            for one in targets:
                elements = [element.value for element in one.elements] if isinstance(one, cst.Tuple) else [one]
                replacements |= {node: cst.Name(new) for node in elements if getattr(node, "value", "") == name}


def follow_alias(
    plan: Plan,
    module: Module,
    whole: str,
    nodes: Sequence[cst.CSTNode],
    target: str,
    replacements: dict[cst.CSTNode, Any],
    needed: dict[str, Imported],
) -> list[cst.CSTNode]:
    """Rewrite `module.name` where the module moved; return the uses of the module that are not of this form."""
    left = []
    for node in nodes:
        parent = module.parents[node]
        if not isinstance(parent, cst.Attribute) or parent.value is not node:
            left.append(node)
            continue
        found = plan.find(Imported(whole, parent.attr.value))
        if found.module == target:
            replacements[parent] = cst.Name(found.name)
            continue
        if not found.name:
            needed[parent.attr.value] = found
            replacements[parent] = cst.Name(parent.attr.value)
            continue
        stem = found.module.rpartition(".")[2]
        alias = (
            stem
            if stem not in module.bound_anywhere or needed.get(stem) == Imported(found.module, "")
            else f"{stem}_module"
        )
        needed[alias] = Imported(found.module, "")
        replacements[parent] = parse_template_expression(f"{alias}.{found.name}")
    return left


def rewrite_inner_imports(plan: Plan, module: Module, target: str, replacements: dict[cst.CSTNode, Any]) -> None:
    """Rewrite imports within functions."""
    waiting: list[cst.CSTNode] = [chunk for chunk in module.tree.body if isinstance(chunk, cst.BaseCompoundStatement)]
    while waiting:
        statement = waiting.pop()
        waiting += statement.children
        found = import_of(statement)
        bindings = dict(read_import(found)) if found else {}
        if not isinstance(statement, cst.SimpleStatementLine) or not any(
            mentions(plan, one) for one in bindings.values()
        ):
            continue
        found_at = {binding: plan.find(one) for binding, one in bindings.items()}
        lines = [
            import_line(binding, one) if one.module != target or not one.name else f"{binding} = {one.name}"
            for binding, one in sorted(found_at.items())
            if one.module != target or one.name != binding
        ]
        if not lines:
            replacements[statement] = cst.RemoveFromParent()
            continue
        statements = [cst.parse_statement(line) for line in lines]
        statements[0] = statements[0].with_changes(leading_lines=statement.leading_lines)
        replacements[statement] = cst.FlattenSentinel(statements)


def mentions(plan: Plan, imported: Imported) -> bool:
    """Whether an import names something that moves."""
    return imported.module in plan.targets or f"{imported.module}.{imported.name}" in plan.targets


def import_line(binding: str, imported: Imported) -> str:
    """The statement that binds a name."""
    module, name = imported.module, imported.name
    if not name and (module == binding or (binding == module.partition(".")[0] and "." not in module)):
        return f"import {module}"
    if not name and binding == module.partition(".")[0]:
        return f"import {module}"
    if not name:
        module, _, name = module.rpartition(".")
        if not module:
            return f"import {name} as {binding}"
    return f"from {module} import {name}" + (f" as {binding}" if binding != name else "")


def import_block(needed: Mapping[str, Imported]) -> str:
    """Imports as text; ruff sorts and joins them."""
    plain = sorted(import_line(*one) for one in needed.items() if not one[1].typing_only)
    typed = sorted(f"    {import_line(*one)}" for one in needed.items() if one[1].typing_only)
    lines = [line for line in plain if line != "from __future__ import annotations"]
    if typed and "from typing import TYPE_CHECKING" not in lines:
        lines.append("from typing import TYPE_CHECKING")
    return "\n".join([*lines, *(["", "if TYPE_CHECKING:", *typed] if typed else [])])


def write_target(plan: Plan, target: str) -> str:
    """The text of a module that something moves to or from."""
    imports: dict[str, Imported] = {}
    texts: list[str] = []
    parts = plan.written[target]
    described = sorted(parts, key=lambda part: part[0].name != target)
    docstring = next((module.docstring for module, _ in described if module.docstring), None)
    for module, chunks in parts:
        if not chunks:
            continue
        change, needed = rewrite(plan, module, chunks, target)
        for binding, imported in needed.items():
            before = imports.get(binding)
            if before and (before.module, before.name) != (imported.module, imported.name):
                sys.exit(f"{target}: {binding} is both {before} and {imported}; rename one before the move")
            both = imported.typing_only and (before is None or before.typing_only)
            imports[binding] = Imported(imported.module, imported.name, both)
        for chunk in chunks:
            for statement in chunk.statements:
                texts.append(module.tree.code_for_node(statement.visit(change)))  # type: ignore[arg-type]
    head = parts[0][0].tree.code_for_node(docstring) if docstring else ""
    if not texts:
        return head
    return "\n".join([head, "from __future__ import annotations", "", import_block(imports), "", "".join(texts)])


def rewrite_importer(plan: Plan, path: Path) -> str | None:
    """The text of a file that stays where it is; None where nothing of it changes."""
    module = Module(dotted(path) or path.stem, path)
    affected = {name for name, imported in module.imports.items() if mentions(plan, imported)}
    change, needed = rewrite(plan, module, None, module.name)
    extra = {name: one for name, one in needed.items() if name not in module.imports}
    statements: list[str] = []
    for statement in module.tree.body:
        kept, new = keep_import(plan, module, statement, needed)
        if kept:
            statements.append(module.tree.code_for_node(statement.visit(change)))  # type: ignore[arg-type]
        elif extra and import_of(statement):
            statements.append(f"{import_block(extra)}\n")
            extra = {}
        statements += new
    bare = module.tree.with_changes(body=[])
    header = bare.with_changes(footer=[]).code
    footer = bare.with_changes(header=[]).code
    text = "".join([header, *statements, footer])
    return text if affected or text != module.tree.code else None


def imports_moved(plan: Plan, text: str) -> bool:
    """Whether a text may import what moves."""
    return any(name in text or f"from {name.rpartition('.')[0]} import" in text for name in plan.targets)


def keep_import(
    plan: Plan, module: Module, statement: cst.BaseStatement, needed: Mapping[str, Imported]
) -> tuple[bool, list[str]]:
    """Whether a top-level statement stays as it is, and the imports that take its place."""
    blocks: Sequence[cst.CSTNode] = [statement]
    indent = ""
    if isinstance(statement, cst.If) and get_full_name_for_node(statement.test) == "TYPE_CHECKING":
        blocks, indent = statement.body.body, "    "
    imports = [import_of(block) for block in blocks]
    bindings = {name: one for found in imports if found for name, one in read_import(found)}
    if None in imports or not any(mentions(plan, one) for one in bindings.values()):
        return True, []
    lines = [indent + import_line(name, plan.find(one)) + "\n" for name, one in bindings.items() if name in needed]
    leading = "".join(module.tree.code_for_node(line) for line in statement.leading_lines)  # type: ignore[attr-defined]
    return False, [leading, "if TYPE_CHECKING:\n" if indent and lines else "", *sorted(lines)]


def rewrite_names(plan: Plan, text: str) -> str:
    """A text whose dotted names and paths follow."""
    for module in sorted(plan.targets, key=len, reverse=True):
        if module.rpartition(".")[2] not in text:
            continue
        here = plan.modules[module].relative_to(TOP).as_posix()
        there = plan.paths[plan.place(module)].relative_to(TOP).as_posix()

        def follow(match: re.Match[str], module: str = module) -> str:
            name = match["name"] or ""
            found = plan.find(Imported(module, name)) if name in plan.module(module).names else None
            new = found.module if found else plan.place(module)
            return f"{new}{match['mark'] or ''}{found.name if found else name}"

        text = re.sub(rf"(?<![\w.]){re.escape(module)}(?:(?P<mark>[.:])(?P<name>[A-Za-z_]\w*))?(?!\w)", follow, text)
        text = re.sub(rf"(?<!\w)(?<!\w/){re.escape(here)}\b", there, text)
        inner = here.removeprefix(f"{PACKAGE}/")
        text = re.sub(rf"(?<=[\"'`(]){re.escape(inner)}(?=[\"'`)])", there.removeprefix(f"{PACKAGE}/"), text)
    return text


def dotted(path: Path) -> str:
    """The dotted name of a file's module; empty outside the package."""
    parts = path.relative_to(TOP).with_suffix("").parts
    if parts[0] != PACKAGE:
        return ""
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tracked(*patterns: str) -> list[Path]:
    """The files of the repository that match."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=TOP, capture_output=True, text=True, check=True)
    return [TOP / name for name in listed.stdout.split("\0") if name and (TOP / name).is_file()]


def apply(plan: Plan) -> None:
    """Write every file that changes."""
    plan.rename_collisions()
    texts = {
        target: write_target(plan, target)
        for target, parts in plan.written.items()
        if any(chunks or (source.name in plan.targets and not source.chunks) for source, chunks in parts)
    }
    changed: dict[Path, str] = {}
    for path in tracked("*.py"):
        is_moved = dotted(path) in plan.written or dotted(path) in plan.targets
        if is_moved or path.is_symlink() or not imports_moved(plan, path.read_text(encoding="utf-8")):
            continue
        if (text := rewrite_importer(plan, path)) is not None:
            changed[path] = text
    for module in plan.targets:
        if module not in texts or plan.paths[module] != plan.modules[module]:
            plan.modules[module].unlink()
    for target, text in texts.items():
        plan.paths[target].parent.mkdir(parents=True, exist_ok=True)
        changed[plan.paths[target]] = text
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
    for path in {*tracked(*TEXTS), *changed}:
        text = path.read_text(encoding="utf-8")
        if (followed := rewrite_names(plan, text)) != text:
            path.write_text(followed, encoding="utf-8")
            changed[path] = followed
    code = [path for path in changed if path.suffix == ".py"]
    for command in (["check", "--quiet", "--fix", "--select", "I,F401,F811,TC005"], ["format", "--quiet"]):
        subprocess.run([Path(sys.executable).with_name("ruff"), *command, *code], cwd=TOP, check=False)
    print(f"{len(texts)} modules written, {len(changed)} files changed")
    for (module, name), renamed in sorted(plan.renamed.items()):
        print(f"{module}: {name} is {renamed} now")
    for target in sorted(texts):
        for source, chunks in plan.written[target]:
            if chunks and source.docstring and source.name != target and len(plan.written[target]) > 1:
                print(f"{source.name}, now in {target}: {source.tree.get_docstring()}")


def main() -> None:
    """Read the command line, and move."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", help="a file, or a file and its names: FILE:NAME,NAME")
    parser.add_argument("target", nargs="?", help="the file to move to")
    parser.add_argument("--plan", type=Path, help="a file with a source, a tab and a target on each line")
    given = parser.parse_args()
    if given.plan:
        lines = [line.split("\t") for line in given.plan.read_text(encoding="utf-8").splitlines() if line.strip()]
    elif given.source and given.target:
        lines = [[given.source, given.target]]
    else:
        parser.error("name a source and a target, or a plan")
    apply(Plan([(line[0], line[1]) for line in lines]))


if __name__ == "__main__":
    main()
