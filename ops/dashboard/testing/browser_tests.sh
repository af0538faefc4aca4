#!/usr/bin/env bash
# The dashboard in a headless Chromium (Debian's), driven by Playwright, checked by axe-core. What it
# needs from PyPI is fetched once, into the user's cache.
#   ops/dashboard/testing/browser_tests.sh install              fetch Playwright and axe (done by run too)
#   ops/dashboard/testing/browser_tests.sh run SCREENSHOTS [TEST...]  tests, by default all; exit code 77 where Chromium is absent
#   ops/dashboard/testing/browser_tests.sh measure [URL JOB]...  bytes, time until interactive, frames; prints them
#   ops/dashboard/testing/browser_tests.sh python ARGUMENTS...  that Python, to try things out
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
playwright=1.65.2
axe=0.1.8
cache=${XDG_CACHE_HOME:-$HOME/.cache}/eroica/browser-tests-$playwright-$axe

die() {
  echo "browser_tests.sh: $*" >&2
  exit 1
}

# The environment gets its final name only when it is whole.
install_tools() {
  [ ! -f "$cache/ready" ] || return 0
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9
  if [ ! -f "$cache/ready" ]; then
    echo "browser_tests.sh: installing Playwright $playwright and axe into $cache" >&2
    python3 -m venv --clear "$cache/venv" || die "needs python3-venv: ops/install_dependencies.sh --tests"
    "$cache/venv/bin/pip" install --quiet --disable-pip-version-check \
      "playwright==$playwright" "axe-playwright-python==$axe" >"$cache/pip.log" 2>&1 || {
      tail -n 15 "$cache/pip.log" >&2
      die "pip could not fetch them (its last lines are above): is its index reachable?"
    }
    touch "$cache/ready"
  fi
  exec 9>&-
}

find_chromium() {
  EROICA_CHROMIUM=$(command -v chromium || true)
  export EROICA_CHROMIUM
  if [ -z "$EROICA_CHROMIUM" ]; then
    echo "skipped: there is no chromium (ops/install_dependencies.sh --tests)"
    exit 77
  fi
}

command=${1:-}
[ $# -eq 0 ] || shift
export PYTHONDONTWRITEBYTECODE=1
case $command in
  install) install_tools ;;
  run)
    [ $# -ge 1 ] || die "run takes the folder for screenshots"
    find_chromium
    install_tools
    mkdir -p "$1"
    EROICA_SCREENSHOTS=$(cd "$1" && pwd)
    export EROICA_SCREENSHOTS
    shift
    [ $# -gt 0 ] || set -- browser_pages_test browser_state_test browser_heat_map_test
    cd "$here"
    "$cache/venv/bin/python" -m unittest "$@"
    ;;
  measure)
    find_chromium
    install_tools
    cd "$here"
    "$cache/venv/bin/python" measure_dashboard.py "$@"
    ;;
  python)
    find_chromium
    install_tools
    "$cache/venv/bin/python" "$@"
    ;;
  *)
    sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
