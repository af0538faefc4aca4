#!/usr/bin/env bash
# Builds and runs the benchmarks (tests/benchmarks) and prints the tables of docs/PERFORMANCE.md.
#   ops/benchmark.sh [--filter REGEX] [--min-time SECONDS] [--repetitions N]
# The end-to-end benchmark needs a broker: ops/kafka.sh is started for it and stopped afterwards.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ops/install_dependencies.sh --tests >&2
ops/build.sh release >&2
mapfile -t programs < <(find build/release/tests/benchmarks -maxdepth 1 -name '*_benchmark' -type f ! -name 'end_to_end_*' | sort)

lscpu | sed -n 's/^Model name: *//p' | head -n 1
python3 tests/benchmarks/performance_table.py "${programs[@]}" "$@"
