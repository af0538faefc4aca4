#!/usr/bin/env bash
# From a fresh clone to a finding on the screen: installs, builds, and runs a training job in which
# one rank is slow, with Eroica inside its ranks. No Kafka, no GPU, no configuration, no data.
#   ops/quickstart.sh           trains on this machine, with a fault in rank 3
#   ops/quickstart.sh FOLDER    instead diagnoses traces of one job, one file a rank
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
eroica=build/release/ops/cli/eroica
ranks=8
steps=200
fault_rank=3
fault_step=64

if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
  sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
traces=
if [ $# -eq 1 ]; then
  if [ ! -e "$1" ]; then
    echo "quickstart.sh: there is no $1" >&2
    exit 1
  fi
  traces=$(realpath "$1")
fi
cd "$root"

# NumPy of Debian belongs to the interpreter of Debian, which need not be the first one in PATH.
numpy_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c "import numpy" 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  echo "quickstart.sh: no Python here has NumPy (Debian: python3-numpy)" >&2
  return 1
}

install_and_build() {
  ops/install_dependencies.sh
  ops/build.sh release "$@"
}

diagnose_traces() {
  cat <<END
This installs what Eroica needs from Debian 12 (0.5 GB where nothing is there yet), builds it (about
10 minutes on 2 cores, 0.1 GB below build/), and diagnoses the traces in $traces.

END
  install_and_build eroica
  echo
  echo "\$ $eroica diagnose $traces"
  local status=0
  "$eroica" diagnose "$traces" || status=$?
  # 0: nothing found, 1: findings, 3: cannot tell. All mean that the pipeline ran to its end.
  case "$status" in
    0 | 1 | 3) ;;
    *) exit "$status" ;;
  esac
  cat <<END

Where to look next:
  $eroica diagnose --json $traces
                              the same for programs
  docs/TRACES.md              how to record traces of which much can be said
  docs/FINDINGS.md            every kind of finding: its evidence, its limits, what to do
  ops/quickstart.sh           a live training job instead of traces
END
}

# Whether a finding blames the rank that was made slow, and names what it was made to run. Reads
# findings as JSON lines; the first argument is the rank, the second the function.
judge='
import json, sys
rank, function = int(sys.argv[1]), sys.argv[2]
found = [json.loads(line) for line in sys.stdin if line.strip()]
blamed = [f for f in found if any(c.get("rank") == rank for c in f["culprits"])]
others = [f for f in found if f not in blamed and f["culprits"]]
named = any(function in json.dumps(f) for f in blamed)
if not blamed:
    print(f"NOT FOUND: no finding blames rank {rank}.")
elif named:
    print(f"Found: rank {rank}, and {function}.")
else:
    print(f"Found in part: rank {rank}, but not {function}.")
for finding in others:
    print("FALSE, nothing of this was injected: " + finding["title"])
sys.exit(0 if blamed and named and not others else 1)
'

run_live_job() {
  local folder=build/quickstart python
  cat <<END
This will
  1. install what Eroica needs from Debian 12 (0.5 GB where nothing is there yet; nothing is
     downloaded where it is),
  2. build Eroica: about 10 minutes on 2 cores, 0.1 GB below build/; done once,
  3. train a small language model for $steps steps on $ranks ranks of this machine, under a minute and
     a half on 2 cores. From step $fault_step on, rank $fault_rank computes one layer too many. Eroica
     is not told.

END
  install_and_build eroica eroica_producer_core eroica_python
  python=$(numpy_python)
  rm -rf "$folder"  # what the run before has left
  mkdir -p "$folder"

  local job=("$python" ops/demo/launch.py --ranks "$ranks" --steps "$steps" --backend numpy
    --fault compute --fault-rank "$fault_rank" --fault-step "$fault_step" --truth "$folder/truth")
  echo
  echo "\$ $eroica run --job quickstart -o $folder/recording -- ${job[*]}"
  "$eroica" run --job quickstart -o "$folder/recording" -- "${job[@]}"

  cat <<END

What was injected: from step $fault_step on, rank $fault_rank also ran extra_attention_layer
(ops/demo/faults.py). What the ranks measured themselves, in ms a step, before and after (own: without
the all-reduce, in which whoever is fast waits):

END
  "$python" ops/demo/truth.py "$folder/truth"
  echo
  local status=0
  { "$eroica" findings --recording "$folder/recording" --json || [ $? -eq 1 ]; } |
    "$python" -c "$judge" "$fault_rank" extra_attention_layer || status=$?
  if [ "$status" -ne 0 ]; then
    echo "A machine that is busy with other work can do this: see load and running above, try again."
  fi
  cat <<END

Where to look next:
  $eroica run -- torchrun --nproc-per-node 8 train.py
                              the same with your job
  docs/PRODUCERS.md           clusters, containers, Kafka, what it takes and costs, how to switch it off
  docs/FINDINGS.md            every kind of finding: its evidence, its limits, what to do
  ops/demo/README.md          other faults: data, gc, gil, neighbor, link
  $eroica findings --recording $folder/recording
                              what was found, once more
END
  return "$status"
}

if [ -n "$traces" ]; then diagnose_traces; else run_live_job; fi
