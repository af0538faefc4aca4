#!/usr/bin/env bash
# Runs the producers on a real GPU, and holds what they record against what is known otherwise.
#   tests/gpu/run.sh FOLDER [PART...]
#     truth        one process: every kernel, copy and wait; the hand-over to torch.profiler
#     collectives  four ranks on the one device: every kind of operation, with its bytes
#     jobs         four ranks: healthy, and with each fault; what is found is printed
#     overhead     what each producer costs a step; takes five minutes, alone on the machine
# Default: truth collectives jobs. Logs, traces and recordings come into FOLDER, which is new.
# Needs: one NVIDIA GPU with 20 GB, PyTorch with CUDA in python3, the build folder of the preset
# release with the CUPTI producer (EROICA_BUILD names another). MPS is used where it is installed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${EROICA_BUILD:-$root/build/release}
eroica=$build/ops/cli/eroica
here=$root/tests/gpu

if [ $# -lt 1 ] || [[ $1 == -* ]]; then
  sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
mkdir "$1"
out=$(cd "$1" && pwd)
shift
parts=("$@")
[ $# -gt 0 ] || parts=(truth collectives jobs)
failed=0

check_machine() {
  python3 -c "import torch; assert torch.cuda.is_available()" ||
    { echo "run.sh: python3 has no PyTorch that sees a GPU" >&2; exit 1; }
  [ -f "$build/lib/liberoica_cupti.so" ] ||
    { echo "run.sh: no $build/lib/liberoica_cupti.so (EROICA_CUPTI=ON)" >&2; exit 1; }
}

# record NAME RANKS FLAGS COMMAND...: under `eroica run`, and as a trace.
record() {
  local name=$1 ranks=$2 flags=$3
  shift 3
  echo "== $name" >&2
  # shellcheck disable=SC2086
  "$eroica" run --recording "$out/$name" --job "$name" --ranks "$ranks" $flags -- "$@" \
    >"$out/$name.txt" 2>&1 || true
  grep -E '^   |^eroica: rank' "$out/$name.txt" | cut -c1-200 || true
}
trace() { "$eroica" export --recording "$out/$1" -o "$out/$1.json" --events 20000000 >/dev/null; }
compare() { python3 "$here/truth.py" "$@" || failed=1; }
one() { env RANK=0 WORLD_SIZE=1 python3 "$@"; }
train=("$here/train.py" --shape realistic)
four=(python3 "$here/ranks.py" --ranks 4 --mps --)

run_truth() {
  record work 1 "" env RANK=0 WORLD_SIZE=1 python3 "$here/device_work.py" --out "$out/work.counts"
  trace work
  compare work "$out/work.json" "$out/work.counts"
  one "${train[@]}" --steps 20 --steps-file "$out/torch.steps" --profile "$out/torch.trace" \
    >"$out/torch.txt" 2>&1
  record steps 1 "" env RANK=0 WORLD_SIZE=1 python3 "${train[@]}" --steps 40 \
    --steps-file "$out/steps.steps"
  trace steps
  compare steps "$out/steps.json" "$out/steps.steps" "$out/torch.trace" "$out/torch.steps"
  record hook 1 "" env RANK=0 WORLD_SIZE=1 python3 "${train[@]}" --steps 60 \
    --steps-file "$out/hook.steps" --profile "$out/hook.trace" --profile-from 20 --profile-steps 10
  trace hook
  compare steps "$out/hook.json" "$out/hook.steps" "$out/torch.trace" "$out/torch.steps" \
    --skip 20:10
}

run_collectives() {
  record calls 4 "" "${four[@]}" "$here/collectives.py" --out "$out/calls_RANK.made"
  trace calls
  compare calls "$out/calls.json" "$out"/calls_?.made
}

run_jobs() {
  local job=("${four[@]}" "$here/train.py" --shape shared --wrap ddp --steps 160)
  export EROICA_SEND_MS=2000 EROICA_REQUESTS=0
  record healthy 4 "--level 1" "${job[@]}"
  record compute 4 "--level 1" "${job[@]}" --fault compute --fault-rank 2 --fault-size 30
  record data 4 "--level 1" "${job[@]}" --fault data --fault-rank 1 --fault-size 0.06
  record hang 4 "--level 1" "${job[@]}" --fault hang --fault-rank 3 --fault-step 80 --fault-size 16
}

run_overhead() {
  local measure=(python3 "$here/overhead.py" --eroica "$eroica" --libraries "$build/lib")
  "${measure[@]}" --json "$out/overhead.json"
  "${measure[@]}" --ranks 4 --mps --shapes shared --json "$out/overhead_ranks.json"
}

check_machine
for part in "${parts[@]}"; do "run_$part"; done
exit "$failed"
