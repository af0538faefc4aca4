#!/usr/bin/env bash
# The schemas that the manifests are checked against: pip fetches them once, with the package
# kubernetes-validate, into the user's cache; the checksum is pinned here. Prints their folder.
# Nothing is installed, and the check itself needs no network.
#   ops/kubernetes/schemas.sh
set -euo pipefail

version=1.37.0
checksum=85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9
# The oldest and the newest Kubernetes that the manifests are for (ops/kubernetes/manifests.py).
kept=(v1.29.0-local-strict v1.37.0-local-strict)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/eroica/kubernetes-schemas-$version

die() {
  echo "schemas.sh: $*" >&2
  exit 1
}

if [ ! -d "$cache" ]; then
  python3 -m pip --version >/dev/null 2>&1 || die "needs pip (Debian: python3-pip)"
  mkdir -p "$(dirname "$cache")"
  work=$(mktemp -d "$cache.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  echo "schemas.sh: fetching the schemas of Kubernetes (23 MB) into $cache" >&2
  echo "kubernetes-validate==$version --hash=sha256:$checksum" >"$work/requirements.txt"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
    --only-binary=:all: --dest "$work" --requirement "$work/requirements.txt" >"$work/pip.log" 2>&1 || {
    tail -n 15 "$work/pip.log" >&2
    die "pip could not fetch them (its last lines are above)"
  }
  python3 -m zipfile -e "$work"/*.whl "$work/wheel"
  mkdir "$work/schemas"
  for folder in "${kept[@]}"; do
    mv "$work/wheel/kubernetes_validate/kubernetes-json-schema/$folder" "$work/schemas/"
  done
  # Whoever was faster has the same.
  mv -T "$work/schemas" "$cache" 2>/dev/null || [ -d "$cache" ] || die "cannot write $cache"
fi
echo "$cache"
