#!/bin/bash
# A part of a launch that has a server of its own:
#
#   lmms-eval-tasks launch --shards 8 --jobs 4 -- bash examples/served_part.sh --tasks TASKS --output_path OUT --log_samples
#
# SERVE starts the server, on the port in $PORT, which counts from FIRST_PORT, and MODEL is the name of its model; all may
# be set beforehand. Arguments go to lmms-eval. The launch ends the server with its part.
set -euo pipefail

export PORT=$((${FIRST_PORT:-8000} + ${LMMS_EVAL_TASKS_SHARD%/*}))
export MODEL=${MODEL:-Qwen/Qwen2.5-VL-7B-Instruct}
SERVE=${SERVE:-'vllm serve "$MODEL" --port "$PORT" --tensor-parallel-size 2'}

bash -c "$SERVE" &
server=$!
until curl --silent --fail --output /dev/null "http://localhost:$PORT/v1/models"; do
  kill -0 "$server" || { echo "The server has ended." >&2; exit 1; }
  sleep 1
done
lmms-eval --model openai \
  --model_args "model_version=$MODEL,base_url=http://localhost:$PORT/v1,api_key=none,timeout=600,max_frames_num=10" "$@"
