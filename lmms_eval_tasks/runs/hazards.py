"""Known hazards: what lmms-eval and the libraries beneath it do that moves scores without an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import SpecifierSet


def _no_value(name: str) -> Any:
    return None


@dataclass(frozen=True)
class RunFacts:
    """Facts about a run that shows videos, on which hazards are tested."""

    adapter: str = ""
    """Module below `lmms_eval.models` whose code answers."""
    weights: str | None = None
    """`model_type` of the weights that transformers has loaded."""
    reader: str | None = None
    """Reader of clips, as run cards name it."""
    version: Callable[[str], str | None] = _no_value
    argument: Callable[[str], Any] = _no_value
    """Value of one of the model's arguments; None where it is not set."""

    def has(self, package: str, versions: str = "") -> bool:
        """Whether a version of a package is installed; an open end means that no version is known to be free of it."""
        version = self.version(package)
        return version is not None and SpecifierSet(versions).contains(version, prereleases=True)

    def says(self, argument: str, value: str) -> bool:
        return str(self.argument(argument)).lower() == value

    def is_batched(self) -> bool:
        """Whether the model answers several questions at once; raises where its batch size is no number."""
        size = self.argument("batch_size")
        try:
            return float(size) > 1
        except (TypeError, ValueError):
            raise ValueError(f"Expected batch_size to be a number, but got {size!r}.") from None


@dataclass(frozen=True)
class Hazard:
    """A hazard: the test whether it applies, its effect, where that can be checked, and what its test looks at."""

    applies: Callable[[RunFacts], bool]
    effect: str
    source: str
    weights: bool = False
    reader: bool = False
    packages: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    def found(self, run: RunFacts) -> dict[str, str]:
        given = {name: run.argument(name) for name in self.arguments}
        conditions = [f"reader {run.reader}"] if self.reader else []
        conditions += [f"{name} {'not set' if value is None else value}" for name, value in given.items()]
        return {
            "adapter": f"{run.adapter}, weights {run.weights}" if self.weights else run.adapter,
            "versions": ", ".join(f"{package} {run.version(package)}" for package in self.packages) or "any",
            "condition": ", ".join(conditions) or "none",
            "effect": self.effect,
            "source": self.source,
        }


KNOWN_HAZARDS: dict[str, Hazard] = {}
"""The hazards that this version knows, by name."""


def _hazard(source: str, **looked_at: Any) -> Callable[[Callable[[RunFacts], bool]], None]:
    """Make a test a known hazard: its docstring is the effect; what can raise comes last in it."""

    def add(applies: Callable[[RunFacts], bool]) -> None:
        effect = " ".join((applies.__doc__ or "").split())
        KNOWN_HAZARDS[applies.__name__] = Hazard(applies, effect, source, **looked_at)

    return add


OF_POSITIONS: dict[str, Any] = {"weights": True, "packages": ("transformers",), "arguments": ("positions",)}
FIRST_QWENS = ("qwen2_vl", "qwen2_5_vl")
SIMPLE_QWENS = ("simple.qwen2_vl", "simple.qwen2_5_vl", "simple.video_salmonn_2")
SENDING_IMAGES = ("chat.vllm", "simple.vllm", "chat.openai", "simple.openai", "chat.async_openai")
REPLACED = tuple(f"qwen-vl-utils: pyav in place of {reader}" for reader in ("torchcodec", "decord", "torchvision"))


@_hazard("get_rope_index of Qwen2.5-VL in transformers 5.2.0, 5.3.0 and 5.23.0", **OF_POSITIONS)
def qwen_text_inside_video(run: RunFacts) -> bool:
    """The words after a video take positions that begin after its height or width in tokens, not after its length in
    time, as in the versions that the weights were made with. Where a clip is long, they get positions that its
    frames have already: after 64 frames of 60 s at position 31 instead of 78. Clips of few frames are not moved.
    How far scores move is not measured."""
    return run.weights in FIRST_QWENS and run.has("transformers", ">=5.3.0") and not run.says("positions", "reference")


@_hazard("https://github.com/huggingface/transformers/issues/45381", **OF_POSITIONS)
def qwen_frames_at_one_time(run: RunFacts) -> bool:
    """All frames of a video have the same position in time, so the model is not given their order."""
    return (
        run.weights in FIRST_QWENS
        and run.has("transformers", ">=5.3.0,<5.6.0")
        and not run.says("positions", "reference")
    )


@_hazard("https://github.com/huggingface/transformers/pull/48669", **OF_POSITIONS)
def qwen_times_cut(run: RunFacts) -> bool:
    """The seconds between two positions in time are cut to a whole number. Where a clip gives more than two frames a
    second they become 0, and all of its frames have the same position in time."""
    return (
        run.weights == "qwen2_5_vl"
        and run.has("transformers", ">=5.0.0,<5.18.0")
        and not run.says("positions", "reference")
    )


@_hazard(
    "lmms_eval/models/chat/qwen2_5_vl.py of lmms-eval 0.7.3, generate_until",
    packages=("lmms-eval", "decord"),
    arguments=("batch_size", "fps"),
)
def first_clip_frames(run: RunFacts) -> bool:
    """All clips of a batch are sampled with as many frames as the first clip of the batch allows. A clip beside a
    shorter one gets fewer frames than max_num_frames, and a clip shorter than the first ends the run."""
    return (
        run.adapter == "chat.qwen2_5_vl"
        and run.has("lmms-eval", ">=0.7.3")
        and run.has("decord")
        and run.argument("fps") is None
        and run.is_batched()
    )


@_hazard(
    (
        "lmms_eval/models/simple/qwen2_5_vl.py of lmms-eval 0.7.3, generate_until, and qwen2_vl.py and "
        "video_salmonn_2.py beside it"
    ),
    packages=("lmms-eval",),
    arguments=("batch_size",),
)
def only_first_clip_limited(run: RunFacts) -> bool:
    """Only the first clip of a batch is limited to max_num_frames. The others are shown with as many frames as
    qwen-vl-utils takes by itself."""
    return run.adapter in SIMPLE_QWENS and run.has("lmms-eval", ">=0.7.3") and run.is_batched()


@_hazard(
    (
        "lmms_eval/models/simple/qwen2_5_vl.py of lmms-eval 0.7.3, and sampled_fps in video_utils.py of transformers "
        "5.23.0"
    ),
    weights=True,
    packages=("lmms-eval", "transformers"),
)
def frames_without_times(run: RunFacts) -> bool:
    """The processor is not given the times of a clip's frames and takes them for 24 a second, so all of a clip's
    positions in time lie close together, however long it is."""
    return (
        run.adapter in ("simple.qwen2_5_vl", "simple.video_salmonn_2", "chat.thyme")
        and run.weights == "qwen2_5_vl"
        and run.has("lmms-eval", ">=0.7.3")
        and run.has("transformers", ">=5.0.0")
    )


@_hazard(
    "https://github.com/EvolvingLMMs-Lab/lmms-eval/issues/1266", packages=("lmms-eval",), arguments=("pass_video_url",)
)
def video_as_images(run: RunFacts) -> bool:
    """The frames of a clip are sent as separate images. A model that takes videos does not read them as one, does
    not merge neighbouring frames, and has no positions in time; it learns their times only with is_qwen3_vl=True,
    as text."""
    return run.adapter in SENDING_IMAGES and run.has("lmms-eval", ">=0.7.3") and not run.says("pass_video_url", "true")


@_hazard(
    "is_qwen3_vl in lmms_eval/models/chat/vllm.py and async_openai.py of lmms-eval 0.7.3, and protocol.py beside them",
    packages=("lmms-eval",),
    arguments=("model", "model_version", "is_qwen3_vl", "pass_video_url"),
)
def qwen3_frames_without_times(run: RunFacts) -> bool:
    """Qwen3-VL is sent the frames of a clip without their times, which it was trained to read as text before each
    frame. chat.vllm and chat.async_openai write them with is_qwen3_vl=True; the others cannot, and pass_video_url=True
    of chat.openai leaves it to the server."""
    named = f"{run.argument('model')} {run.argument('model_version')}".lower()
    return (
        run.adapter in SENDING_IMAGES
        and run.has("lmms-eval", ">=0.7.3")
        and "qwen3-vl" in named
        and not run.says("is_qwen3_vl", "true")
        and not run.says("pass_video_url", "true")
    )


@_hazard(
    (
        "decord 0.6.0; https://github.com/EvolvingLMMs-Lab/lmms-eval/pull/1432 and "
        "https://github.com/EvolvingLMMs-Lab/lmms-eval/pull/1480"
    ),
    reader=True,
)
def decord_other_frames(run: RunFacts) -> bool:
    """Where a clip has open groups of pictures (as x265 makes them), is a transport stream, is a fragmented MP4, or
    was cut at its beginning without coding the rest anew, decord gives other frames than those that are asked for,
    several places off. It cannot open AV1. It is unmaintained and can crash at exit.
    FORCE_QWENVL_VIDEO_READER=pyav lets adapters that read by qwen-vl-utils read by PyAV."""
    return run.reader in ("decord", "qwen-vl-utils: decord")


@_hazard(
    "vision_process.py of qwen-vl-utils 0.0.14; torchcodec 0.17.0 and torchvision 0.29.2 without FFmpeg", reader=True
)
def clip_reader_replaced(run: RunFacts) -> bool:
    """The reader by which qwen-vl-utils would have read clips cannot be used, and without lmms-eval-tasks the run
    would have ended at its first clip, because torchvision has lost the reader that is taken then. Clips were
    read by PyAV. Its frames were equal to torchcodec's to the bit in seven forms of clips, with one version of
    FFmpeg for both."""
    return run.reader in REPLACED
