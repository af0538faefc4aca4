#!/usr/bin/env bash
# The API of a running node against its own document, by Schemathesis: what the document allows is answered as it says, what it
# forbids is refused, and nothing makes the node fail. Schemathesis is fetched from PyPI once, into the user's cache.
#   ops/rest/testing/api_tests.sh install
#   ops/rest/testing/api_tests.sh run EROICA EROICA_LAB [SECONDS]    exit code 77 where it could not be fetched
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=4.32.5
cache=${XDG_CACHE_HOME:-$HOME/.cache}/eroica/schemathesis-$version

# The environment gets its final name only when it is whole.
install_tool() {
  [ ! -f "$cache/ready" ] || return 0
  mkdir -p "$cache"
  echo "api_tests.sh: installing Schemathesis $version into $cache" >&2
  python3 -m venv --clear "$cache/venv" &&
    "$cache/venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version" >"$cache/pip.log" 2>&1 &&
    touch "$cache/ready"
}

case ${1:-} in
  install) install_tool ;;
  run)
    if ! install_tool; then
      echo "skipped: Schemathesis cannot be fetched from PyPI (python3-venv, and its index, are needed)"
      exit 77
    fi
    PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/api_test.py" "$cache/venv/bin/schemathesis" "${@:2}"
    ;;
  *)
    sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
