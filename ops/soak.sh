#!/usr/bin/env bash
# Looks for faults as long as it is let: seeds of simulated clusters that no build has tried, and in
# between three nodes of the program under fault on a real Kafka, with seeds of their own. Stops at the
# first failure and prints the seed and how to run it alone.
#   ops/soak.sh [MINUTES]      30 minutes unless told otherwise
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

minutes=${1:-30}
if ! [[ $minutes =~ ^[1-9][0-9]{0,5}$ ]]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi

ops/install_dependencies.sh --tests
ops/build.sh release simulation_test nodes_under_fault_test
tests=build/release/tests
broker=build/release/kafka-soak
log=$(mktemp)
trap 'ops/kafka.sh stop "$broker" >/dev/null 2>&1; rm -f "$log"' EXIT
if EROICA_TEST_BROKER=$(ops/kafka.sh start --free-port "$broker"); then
  export EROICA_TEST_BROKER
else
  unset EROICA_TEST_BROKER
  echo "soak.sh: no broker could be started: simulation only" >&2
fi

fail() {
  tail -n 60 "$log" >&2
  echo "soak.sh: $1" >&2
  exit 1
}

# Beyond the thousand of every build.
seed=$((1000 + $(date +%s) % 1000000 * 1000))
seeds=0
rounds=0
end=$((SECONDS + minutes * 60))
while [ "$SECONDS" -lt "$end" ]; do
  EROICA_SIMULATION_SEEDS=$seed-$((seed + 4999)) "$tests/simulation/simulation_test" >"$log" 2>&1 ||
    fail "$(grep -m 1 -o 'seed [0-9]* failed.*' "$log" || echo "the simulation ended, seeds from $seed")"
  seed=$((seed + 5000))
  seeds=$((seeds + 5000))
  if [ -n "${EROICA_TEST_BROKER:-}" ] && [ "$SECONDS" -lt "$end" ]; then
    export EROICA_FAULT_SEED=$seed
    "$tests/integration/nodes_under_fault_test" >"$log" 2>&1 ||
      fail "nodes under fault failed: run it alone with EROICA_FAULT_SEED=$EROICA_FAULT_SEED"
    rounds=$((rounds + 1))
  fi
  echo "soak: $((SECONDS / 60)) min, $seeds seeds of simulation, $rounds rounds of nodes under fault"
done
