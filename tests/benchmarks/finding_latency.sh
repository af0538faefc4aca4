#!/usr/bin/env bash
# How long after a window's end its finding is on the topic: one rank of 64 has a slow GPU, in real
# time, through a real broker and one node. Needs a build (ops/build.sh release eroica eroica-lab benchmarks).
#   tests/benchmarks/finding_latency.sh [SECONDS]        default: 300
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-300}
build=build/release
folder=$(mktemp -d)
cleanup() {
  jobs -p | xargs --no-run-if-empty kill 2>/dev/null || true
  wait
  ops/kafka.sh stop "$folder/kafka" >/dev/null 2>&1 || true
  rm -r "$folder"
}
trap cleanup EXIT

cat >"$folder/job.toml" <<'JOB'
family = "gpu slow"
about = "The GPU of one rank of 64 is slow, in every window."
steps = 1_000_000

[layout]
data = 64

[workload]
layers = 6
micro_batches = 2

[[fault]]
kind = "gpu_slow"
ranks = 9
severity = 0.2
first_step = 4
JOB

broker=$(ops/kafka.sh start --free-port "$folder/kafka")
"$build/ops/cli/eroica" topics create --bootstrap "$broker" >&2
"$build/ops/cli/eroica" node --bootstrap "$broker" --state "$folder/state" \
  --set rest.listen=off >"$folder/node.log" 2>&1 &
"$build/tests/evaluation/lab/eroica-lab" simulate "$folder/job.toml" --job latency \
  --bootstrap "$broker" --level 1 --pace real >"$folder/simulate.log" 2>&1 &
simulation=$!
sleep 10 # the first windows: groups are joined, the fault begins
kill -0 "$simulation" 2>/dev/null || {
  cat "$folder/simulate.log" >&2
  exit 1
}
"$build/tests/benchmarks/finding_latency" --bootstrap "$broker" --seconds "$seconds"
