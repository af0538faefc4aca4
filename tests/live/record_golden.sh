#!/usr/bin/env bash
# Records the small live jobs that tests/golden/live keeps: the demo, healthy and with each fault, under
# `eroica run`. Only the events are kept; everything else follows from them.
#   tests/live/record_golden.sh [CASE...]     default: all of tests/golden/live/truth.json
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

golden=tests/golden/live
eroica=build/release/ops/cli/eroica
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Large batches and no full trace: a quarter of a megabyte a job.
export EROICA_SEND_MS=2000 EROICA_REQUESTS=0

cases=("$@")
if [ $# -eq 0 ]; then
  mapfile -t cases < <(python3 -c "import json; print(*json.load(open('$golden/truth.json')), sep='\n')")
fi
for case in "${cases[@]}"; do
  read -r rank step < <(python3 -c "
import json
truth = json.load(open('$golden/truth.json'))['$case'] or {'rank': 0, 'from_step': 0}
print(truth['rank'], truth['from_step'])")
  fault=(--fault "$case" --fault-rank "$rank" --fault-step "$step")
  [ "$case" != healthy ] || fault=()
  echo "recording $case" >&2
  "$eroica" run --recording "$work/$case" --job "demo-$case" --ranks 8 -- \
    /usr/bin/python3 ops/demo/launch.py --backend numpy --ranks 8 --steps 144 "${fault[@]}" >/dev/null
  rm -rf "${golden:?}/$case"
  mkdir -p "$golden/$case"
  cp -r "$work/$case/eroica.events" "$golden/$case/"
  find "$golden/$case" -name writer.lock -delete
done
du -sh "$golden"/*/
