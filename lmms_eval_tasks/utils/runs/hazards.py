"""Known hazards: what lmms-eval or a library does to a run that can move its scores without an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from lmms_eval_tasks.utils.core.problems import InputError

FILE = Path(__file__).with_name("hazards.json")
APPLIES, DOES_NOT_APPLY = "applies", "does not apply"


def _check_specifier(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f"Expected a specifier of versions, but got {text!r}") from error
    return text


Specifier = Annotated[str, AfterValidator(_check_specifier)]


class ArgumentTest(BaseModel):
    """A test of one argument of a model, as the model has it; exactly one of its fields is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    above: float | None = None
    unset: bool | None = None
    none_of: tuple[str | bool, ...] | None = None

    @model_validator(mode="after")
    def _check_count(self) -> ArgumentTest:
        if [self.above, self.unset, self.none_of].count(None) != 2:
            raise ValueError("Expected exactly one test of an argument")
        return self

    def holds(self, name: str, value: Any) -> bool:
        """Whether a value passes; None stands for an argument that is not set."""
        if self.unset is not None:
            return (value is None) is self.unset
        if self.none_of is not None:
            return str(value).lower() not in {str(other).lower() for other in self.none_of}
        try:
            return float(value) > float(self.above or 0)
        except (TypeError, ValueError):
            raise ValueError(f"Expected {name} to be a number, but got {value!r}.") from None

    def __str__(self) -> str:
        """What has to hold, to follow the argument's name."""
        if self.unset is not None:
            return "not set" if self.unset else "set"
        if self.none_of is not None:
            return f"not {' or '.join(str(value).lower() for value in self.none_of)}"
        return f"above {self.above:g}"


class Hazard(BaseModel):
    """One entry; a condition that it does not have always holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9_]+$")
    adapters: tuple[str, ...] = Field(default=(), description="any of them")
    weights: tuple[str, ...] = Field(default=(), description="any of them")
    readers: tuple[str, ...] = Field(default=(), description="any of them")
    packages: dict[str, Specifier] = Field(default={}, description="all of them")
    arguments: dict[str, ArgumentTest] = Field(default={}, description="all of them")
    effect: str = Field(min_length=1)
    source: str = Field(min_length=1)

    @model_validator(mode="after")
    def _check_conditions(self) -> Hazard:
        if not (self.adapters or self.weights or self.readers):
            raise ValueError("Expected adapters, weights or readers, for no hazard is one of every model")
        return self

    def where(self) -> str:
        """Its conditions as text: `weights qwen2_5_vl; transformers >=5.3.0; fps not set`."""
        any_of = (("adapter", self.adapters), ("weights", self.weights), ("reader", self.readers))
        parts = [f"{name} {' or '.join(values)}" for name, values in any_of if values]
        parts += [f"{package} {specifier}" for package, specifier in self.packages.items()]
        return "; ".join([*parts, *(f"{name} {test}" for name, test in self.arguments.items())])

    def found(self, facts: RunFacts) -> dict[str, str]:
        """What a card says of a run to which it applies."""
        versions = [f"{package} {facts.version(package)}" for package in self.packages]
        reader = [f"reader {facts.reader}"] if self.readers else []
        values = {name: facts.argument(name) for name in self.arguments}
        given = [f"{name} {'not set' if value is None else value}" for name, value in values.items()]
        return {
            "adapter": f"{facts.adapter}, weights {facts.weights}" if self.weights else facts.adapter,
            "versions": ", ".join(versions) or "any",
            "condition": ", ".join([*reader, *given]) or "none",
            "effect": self.effect,
            "source": self.source,
        }


@dataclass(frozen=True)
class RunFacts:
    """What conditions are tested on."""

    adapter: str
    weights: str | None
    shows_videos: bool
    version: Callable[[str], str | None]
    argument: Callable[[str], Any]
    reader: str | None = None


def applies(hazard: Hazard, facts: RunFacts) -> bool:
    """Whether a hazard applies to a run."""
    doubt: Exception | None = None
    for holds in _conditions(hazard, facts):
        try:
            if not holds():
                return False
        except Exception as error:  # whatever a fact's finder raises
            doubt = error
    if doubt:
        raise doubt
    return True


def _conditions(hazard: Hazard, facts: RunFacts) -> Iterator[Callable[[], bool]]:
    yield lambda: facts.shows_videos
    if hazard.adapters:
        yield lambda: facts.adapter in hazard.adapters
    if hazard.weights:
        yield lambda: facts.weights in hazard.weights
    if hazard.readers:
        yield lambda: facts.reader in hazard.readers
    for package, specifier in hazard.packages.items():
        yield partial(_is_installed, package, specifier, facts)
    for name, test in hazard.arguments.items():
        yield partial(_passes, test, name, facts)


def _is_installed(package: str, specifier: str, facts: RunFacts) -> bool:
    version = facts.version(package)
    return version is not None and SpecifierSet(specifier).contains(version, prereleases=True)


def _passes(test: ArgumentTest, name: str, facts: RunFacts) -> bool:
    return test.holds(name, facts.argument(name))


def read_hazards(path: Path) -> dict[str, Hazard]:
    """The hazards of a file by name, in its order."""
    try:
        entries = TypeAdapter(list[Hazard]).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{path.name}: {first['msg']}{f' at {where}' if where else ''}.") from None
    hazards = {hazard.name: hazard for hazard in entries}
    if len(hazards) < len(entries):
        raise InputError(f"{path.name}: Expected names that differ, but got one twice.")
    return hazards


@cache
def known_hazards() -> Mapping[str, Hazard]:
    """The hazards that this version knows, by name."""
    return read_hazards(FILE)
