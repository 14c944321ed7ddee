"""The reference of `lmms_eval_tasks.api`, from the docstrings of its names, which griffe reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import griffe

ROOT = Path(__file__).parents[1]
DOOR = "lmms_eval_tasks.api"
LONGEST = 100
"""Characters of a signature on one line."""
SECTIONS = {
    "attributes": "Fields",
    "parameters": "Arguments",
    "returns": "Returns",
    "yields": "Yields",
    "raises": "Raises",
}


def load_door() -> griffe.Module:
    """The package, with what it imports resolved."""
    loader = griffe.GriffeLoader(
        docstring_parser="google", docstring_options={"returns_multiple_items": False}, search_paths=[ROOT]
    )
    package = loader.load("lmms_eval_tasks")
    loader.resolve_aliases(implicit=True, external=False)
    door = package["api"]
    assert isinstance(door, griffe.Module)
    return door


def modules_of(door: griffe.Module) -> list[griffe.Module]:
    """The package and its public modules, in alphabetical order."""
    return [door, *(door.modules[name] for name in sorted(door.modules))]


def page_of(module: griffe.Module) -> str:
    """The page with the module's examples, below docs."""
    return f"api/{'index' if module.path == DOOR else module.name}.md"


def named(module: griffe.Module) -> dict[str, griffe.Object]:
    """The names that a module offers, in the order of its ``__all__``, with the objects they stand for."""
    found = {str(name): module[str(name)] for name in module.exports or ()}
    return {name: one.final_target if isinstance(one, griffe.Alias) else one for name, one in found.items()}


def reference(module: griffe.Module) -> str:
    """The Markdown of a module's names: signatures, fields and docstrings."""
    lines = ["## Reference", ""]
    for name, found in named(module).items():
        lines += _object_lines(name, found)
    return "\n".join(lines).rstrip() + "\n"


def _object_lines(name: str, found: griffe.Object) -> Iterator[str]:
    yield f"### `{name}`"
    yield ""
    if isinstance(found, (griffe.Class, griffe.Function)) and (shown := _signature(name, found)) != f"{name}()":
        yield from ("```python", shown, "```", "")
    yield from _docstring_lines(found)
    if isinstance(found, griffe.Class):
        members = [member for member in found.members.values() if _is_described(member)]
        for member in members:
            shown = _flat(_signature(member.name, member)) if isinstance(member, griffe.Function) else member.name
            yield f"- `{shown}`: {_summary(member)}"
        if members:
            yield ""


def _is_described(member: griffe.Object | griffe.Alias) -> bool:
    is_own = isinstance(member, (griffe.Function, griffe.Attribute)) and not member.name.startswith("_")
    return is_own and member.docstring is not None


def _signature(name: str, found: griffe.Class | griffe.Function) -> str:
    """A call of it with types and defaults; a long one has an argument a line."""
    arguments: list[str] = []
    for parameter in found.parameters:
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is griffe.ParameterKind.keyword_only and "*" not in arguments:
            arguments.append("*")
        stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
        text = stars.get(parameter.kind, "") + parameter.name if parameter.kind else parameter.name
        text += f": {parameter.annotation}" if parameter.annotation else ""
        has_default = parameter.default is not None and parameter.kind not in stars
        arguments.append(text + (f" = {parameter.default}" if has_default else ""))
    if isinstance(found, griffe.Class) and not arguments:
        arguments = [text for member in found.members.values() if (text := _field(member))]
    returns = f" -> {found.returns}" if isinstance(found, griffe.Function) and found.returns else ""
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) <= LONGEST:
        return line
    return "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), f"){returns}"])


def _field(member: griffe.Object | griffe.Alias) -> str:
    """A field of an enumeration, a form of rows or a named tuple, which have no `__init__` of their own; else empty."""
    if not isinstance(member, griffe.Attribute) or member.name.startswith("_") or member.name == "model_config":
        return ""
    typed = f": {member.annotation}" if member.annotation else ""
    return f"{member.name}{typed}" + (f" = {member.value}" if member.value is not None else "")


def _docstring_lines(found: griffe.Object) -> Iterator[str]:
    for section in found.docstring.parsed if found.docstring else ():
        kind = section.kind.value
        if kind == "text":
            yield from (str(section.value), "")
        elif kind == "examples":
            for of, text in section.value:
                code = of is griffe.DocstringSectionKind.examples
                yield from (("```python", text, "```", "") if code else (text, ""))
        else:
            yield from (f"**{SECTIONS[kind]}**", "")
            for entry in section.value:
                yield f"- {_entry_name(kind, entry)}{_flat(entry.description)}"
            yield ""


def _entry_name(kind: str, entry: griffe.DocstringElement) -> str:
    if kind in ("returns", "yields"):
        return ""
    named = entry.annotation if kind == "raises" else getattr(entry, "name", "")
    typed = f" (`{entry.annotation}`)" if kind == "attributes" and entry.annotation else ""
    return f"`{named}`{typed}: "


def _flat(text: str) -> str:
    return " ".join(text.split())


def _summary(member: griffe.Object | griffe.Alias) -> str:
    return _flat(member.docstring.value.split("\n\n")[0]) if member.docstring else ""
