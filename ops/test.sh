#!/usr/bin/env bash
# Installs, builds, starts a real Kafka broker, runs every test and stops the broker. The last lines are ctest's summary; the exit code is ctest's.
#   ops/test.sh           the release build
#   ops/test.sh --asan    under AddressSanitizer and UndefinedBehaviorSanitizer
#   ops/test.sh --tsan    under ThreadSanitizer
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  "") preset=release ;;
  --asan | --tsan) preset=${1#--} ;;
  *)
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

ops/install_dependencies.sh --tests
ops/promtool.sh >/dev/null || echo "test.sh: promtool cannot be fetched: the alerting rules are not tested" >&2
ops/kubernetes/schemas.sh >/dev/null || echo "test.sh: manifests are not held against Kubernetes' schemas" >&2
ops/build.sh "$preset"

broker=build/$preset/kafka
trap 'ops/kafka.sh stop "$broker" >/dev/null 2>&1' EXIT
EROICA_TEST_BROKER=$(ops/kafka.sh start --free-port "$broker")
export EROICA_TEST_BROKER

# Many tests wait for brokers, clocks and each other.
jobs=$(($(nproc) + 1))
ctest --preset "$preset" --parallel "$jobs"
