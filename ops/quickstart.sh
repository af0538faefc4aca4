#!/usr/bin/env bash
# From a fresh clone to a finding on the screen: installs, builds and diagnoses a folder of traces, with no Kafka and no configuration.
#   ops/quickstart.sh [FOLDER]    traces of one job, one file a rank (default: ../shared/traces/dlrm-kineto-8rank)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
traces=${1:-$root/../shared/traces/dlrm-kineto-8rank}
eroica=build/release/ops/cli/eroica

if [ ! -e "$traces" ]; then
  if [ $# -gt 0 ]; then
    echo "quickstart.sh: there is no $traces" >&2
  else
    echo "quickstart.sh: the sample traces are not beside this repository; name a folder of PyTorch-profiler traces:" \
      "ops/quickstart.sh FOLDER" >&2
  fi
  exit 1
fi
traces=$(realpath --relative-to="$root" "$traces")
cd "$root"

ops/install_dependencies.sh
ops/build.sh release eroica

echo
echo "\$ $eroica diagnose $traces"
status=0
"$eroica" diagnose "$traces" || status=$?
# 0: nothing found, 1: findings. Both mean that the pipeline ran to its end.
if [ "$status" -gt 1 ]; then exit "$status"; fi

cat <<END

Where to look next:
  $eroica diagnose --json $traces    the same for programs
  $eroica --help                     import, node, findings, topics
  docs/ARCHITECTURE.md               the way of an event to a finding, with the file of each stage
  ops/test.sh                        every test, with a real Kafka broker
END
