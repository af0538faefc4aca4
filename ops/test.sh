#!/usr/bin/env bash
# Installs, builds, starts a real Kafka broker, runs the tests and stops the broker. The last lines say what passed; the exit code is ctest's.
#   ops/test.sh           the release build, every test but the nightly ones (about 15 minutes from nothing on 2 cores)
#   ops/test.sh --all     and the nightly ones, then all of it under the sanitizers, each source alone, and clang-tidy (a night)
#   ops/test.sh --asan    under AddressSanitizer and UndefinedBehaviorSanitizer (39 minutes of a processor to build, 25 to test)
#   ops/test.sh --tsan    under ThreadSanitizer (half an hour)
#   ops/test.sh --clang   compiles everything by Clang, which checks locks, with clang-tidy (half an hour); runs nothing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Which entries of ctest run: `nightly` is the label of those that only --all runs.
without_nightly=(--label-exclude '^nightly$')

run_tests() {  # PRESET [option of ctest...]
  local preset=$1 status=0
  shift
  local broker=build/$preset/kafka results=build/$preset/test-results
  rm -rf "$results" && mkdir -p "$results"
  trap 'ops/kafka.sh stop "'"$broker"'" >/dev/null 2>&1' EXIT
  EROICA_TEST_BROKER=$(ops/kafka.sh start --free-port "$broker")
  export EROICA_TEST_BROKER
  # Many tests wait for brokers, clocks and each other.
  GTEST_OUTPUT="xml:$PWD/$results/" ctest --preset "$preset" --parallel "$(($(nproc) * 2))" \
    --output-junit "$PWD/$results/ctest.junit" "$@" || status=$?
  python3 tests/test_report.py "$results/ctest.junit" "$results" || true
  ops/kafka.sh stop "$broker" >/dev/null 2>&1 || true
  return "$status"
}

check_with_clang() {
  ops/install_dependencies.sh --developer && ops/build.sh tidy
}

build_and_run() {  # PRESET [option of ctest...]
  ops/build.sh "$1" && run_tests "$@"
}

everything() {
  local failed=() preset
  export EROICA_TEST_EVERY_PYTHON=1
  { ops/build.sh release all benchmarks && run_tests release; } || failed+=(release)
  for preset in asan tsan; do
    build_and_run "$preset" || failed+=("$preset")
  done
  ops/build.sh dev || failed+=(dev)
  check_with_clang || failed+=(clang)
  [ ${#failed[@]} -eq 0 ] || { echo "test.sh: failed: ${failed[*]}" >&2 && return 1; }
}

case "${1:-}" in
  "" | --asan | --tsan | --all) ;;
  --clang)
    check_with_clang
    exit
    ;;
  *)
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
ops/install_dependencies.sh --tests
ops/promtool.sh >/dev/null || echo "test.sh: promtool cannot be fetched: the alerting rules are not tested" >&2
ops/kubernetes/schemas.sh >/dev/null || echo "test.sh: manifests are not held against Kubernetes' schemas" >&2
case "${1:-}" in
  --all) everything ;;
  --asan | --tsan) build_and_run "${1#--}" "${without_nightly[@]}" ;;
  *) build_and_run release "${without_nightly[@]}" ;;
esac
