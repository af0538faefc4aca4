#!/usr/bin/env bash
# Fetches Alertmanager out of Debian's package, without installing that: it would start a server. Prints the program's path.
#   ops/alertmanager.sh
set -euo pipefail

case "${1:-}" in
  "") ;;
  -h | --help) sed -n '2,3s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  *) echo "alertmanager.sh: there is no $1; see --help" >&2; exit 2 ;;
esac

if command -v prometheus-alertmanager >/dev/null; then
  command -v prometheus-alertmanager
  exit 0
fi
program="${XDG_CACHE_HOME:-$HOME/.cache}/eroica/prometheus-alertmanager"
if [[ ! -x $program ]]; then
  mkdir -p "$(dirname "$program")"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  # apt's own user cannot write to a folder of ours: it says so and goes on.
  (cd "$scratch" && apt-get -qq download prometheus-alertmanager 2>/dev/null && dpkg-deb -x prometheus-alertmanager_*.deb "$scratch/tree")
  mv "$scratch/tree/usr/bin/prometheus-alertmanager" "$program"
fi
echo "$program"
