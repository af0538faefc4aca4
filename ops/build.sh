#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json, with ccache where it is installed. Quiet unless it fails.
#   ops/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -eq 0 ]; then
  sed -n '2,3s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
preset=$1
shift

log=$(mktemp)
trap 'rm -f "$log"' EXIT
fail() {
  grep --extended-regexp --after-context=5 'error|FAILED|undefined reference' "$log" >&2 || tail -n 40 "$log" >&2
  echo "build.sh: the $preset build failed" >&2
  exit 1
}

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake --preset "$preset" "${launcher[@]}" >"$log" 2>&1 || fail

targets=()
if [ $# -gt 0 ]; then targets=(--target "$@"); fi
echo "building ($preset)"
cmake --build --preset "$preset" "${targets[@]}" >"$log" 2>&1 || fail
