#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json, with ccache where it is installed. Shows how
# far the build is: one line that renews itself on a terminal, a line every 10 % elsewhere. The
# compiler is heard only if the build fails.
#   ops/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -eq 0 ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
preset=$1
shift

log=$(mktemp)
trap 'rm -f "$log"' EXIT
fail() {
  grep --extended-regexp --after-context=5 'error|FAILED|undefined reference' "$log" >&2 ||
    tail -n 40 "$log" >&2
  echo "build.sh: the $preset build failed" >&2
  exit 1
}

elapsed() { printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60)); }

# Reads what Ninja says. Its lines begin with [done/all], as NINJA_STATUS below asks for; all others
# are the compiler's.
show_progress() {
  local line percent shown=0 done=0 all=0
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([1-9][0-9]*)\] ]] || continue
    done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    percent=$((100 * done / all))
    if [ -t 1 ]; then
      printf '\r\033[Kbuilding (%s): %d %%, step %d of %d, %s' "$preset" "$percent" "$done" "$all" \
        "$(elapsed)"
    elif [ $((percent / 10)) -gt $((shown / 10)) ]; then
      shown=$percent
      echo "building ($preset): $percent %, step $done of $all, $(elapsed)"
    fi
  done
  if [ -t 1 ] && [ "$all" -gt 0 ]; then echo; fi
}

# Paths below the root are relative for ccache: what one clone has compiled serves the next one.
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR=$PWD
fi
echo "building ($preset)"
cmake --preset "$preset" ${launcher[@]+"${launcher[@]}"} >"$log" 2>&1 || fail

targets=()
if [ $# -gt 0 ]; then targets=(--target "$@"); fi
NINJA_STATUS='[%f/%t] ' cmake --build --preset "$preset" ${targets[@]+"${targets[@]}"} 2>&1 |
  tee "$log" | show_progress || fail
