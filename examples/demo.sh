#!/usr/bin/env bash
# The whole path on sample data: make it, prepare it, run four models, print what they scored.
# Usage: examples/demo.sh FOLDER
# Two of them answer a task of Worlds as well, which is a package of its own.
# The fourth is a released language model that is shown no clip, where `make demo` could install it, else random weights.
set -euo pipefail
out="$(mkdir -p "$1" && cd "$1" && pwd)"
export LMMS_EVAL_TASKS_HOME="$out/home" HF_HOME="$out/hf" HF_HUB_OFFLINE=1
# Without a GPU everything runs on the CPU.
export ACCELERATE_USE_CPU=true

mkdir -p "$out/logs"
lmms-eval-tasks sample --out "$out/sample" --prepare

tasks=causalvqa_debug_paired,mvp_mini
run() { # name, then lmms-eval's arguments; what lmms-eval prints goes into a log
  echo "running $1"
  rm -rf "$out/runs/$1"
  lmms-eval --output_path "$out/runs/$1" --log_samples "${@:2}" \
    > "$out/logs/$1.txt" 2>&1 || { tail -n 30 "$out/logs/$1.txt"; exit 1; }
}
run constant --tasks $tasks,worlds_minimal --model constant_answer
run random --tasks $tasks,worlds_minimal --model random_answer --model_args seed=2
run sample_solver --tasks $tasks --model sample_solver

echo "running SmolLM2-135M-Instruct, a released language model of 93 MB, blind: it answers without the clips"
rm -rf "$out/runs/smollm2" "$out/runs/tiny-qwen2.5-vl"
if python "$(dirname "$0")/../tools/real.py" "$out" --parts demo > "$out/logs/released_model.txt" 2>&1; then
  last=smollm2
else
  echo "  not here, so a tiny Qwen2.5-VL of random weights answers in its place: $(tail -n 1 "$out/logs/released_model.txt")"
  last=tiny-qwen2.5-vl
  lmms-eval-tasks tiny-vlm --out "$out/tiny-qwen2.5-vl" 2> "$out/logs/tiny_vlm.txt"
  run tiny-qwen2.5-vl --tasks $tasks --model qwen2_5_vl --device cpu --gen_kwargs max_new_tokens=16 --model_args \
    "pretrained=$out/tiny-qwen2.5-vl,device_map=cpu,attn_implementation=eager,max_num_frames=8,min_pixels=3136,max_pixels=50176"
fi

lmms-eval-tasks report "$out"/runs/* --html "$out/report.html" > "$out/logs/report.txt"
echo
for name in constant random sample_solver $last; do
  echo "$name"
  grep -E "^(causalvqa_debug_paired|mvp_mini|worlds_minimal)(_blind)?: pair accuracy" "$out/logs/$name.txt" | sed 's/^/  /'
done
echo
echo "Where to look:"
echo "  all scores and every item, in a browser:  $out/report.html"
echo "  the same scores as text:  $out/logs/report.txt"
echo "  every run, with its sample log:  $out/runs"
echo "  files for the leaderboards, those of the solver for example:"
find "$out/runs/sample_solver" -path '*submission*' -name '*.jsonl' | sort | sed 's/^/    /'
