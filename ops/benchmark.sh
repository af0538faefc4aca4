#!/usr/bin/env bash
# Builds and runs the benchmarks (tests/benchmarks) against a real broker of its own and prints the tables of docs/PERFORMANCE.md.
#   ops/benchmark.sh [--filter REGEX] [--min-time SECONDS] [--repetitions N]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ops/install_dependencies.sh --tests >&2
ops/build.sh release benchmarks >&2
programs=build/release/tests/benchmarks

broker=build/release/benchmark-kafka
trap 'ops/kafka.sh stop "$broker" >/dev/null 2>&1' EXIT
EROICA_TEST_BROKER=$(ops/kafka.sh start --free-port "$broker")
export EROICA_TEST_BROKER

lscpu | sed -n 's/^Model name: *//p' | head -n 1
mapfile -t tables < <(find "$programs" -maxdepth 1 -name '*_benchmark' -type f ! -name 'end_to_end_*' | sort)
python3 tests/benchmarks/performance_table.py "${tables[@]}" "$@"

printf '\n### end_to_end_benchmark\n\n'
for threads in 1 2; do
  "$programs/end_to_end_benchmark" --bootstrap "$EROICA_TEST_BROKER" --threads "$threads" | sed 's/^/    /'
done
