#!/usr/bin/env bash
# The alerting rules, by Prometheus' own tool; exits with 77 (skipped) where that is not installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
tool=$(command -v promtool || echo "${XDG_CACHE_HOME:-$HOME/.cache}/eroica/promtool")
if [[ ! -x $tool ]]; then
  echo "skipped: there is no promtool; ops/promtool.sh fetches it"
  exit 77
fi
"$tool" test rules alerts_test.yml
