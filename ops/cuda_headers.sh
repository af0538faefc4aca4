#!/usr/bin/env bash
# CUDA's headers for building the CUPTI producer on a machine without a toolkit: pip fetches NVIDIA's wheels, once, into
# the user's cache; their checksums are pinned here. Prints the folder with cupti.h. The wheels hold libcupti, too
# (../lib/libcupti.so.13 from there), which some tests can load. Nothing is installed.
#   ops/cuda_headers.sh
set -euo pipefail

version=13.5.25
cache=${XDG_CACHE_HOME:-$HOME/.cache}/eroica/cuda-headers-$version
include=$cache/nvidia/cu13/include

die() {
  echo "cuda_headers.sh: $*" >&2
  exit 1
}

requirements() {
  cat <<'END'
nvidia-cuda-cupti==13.5.25 --hash=sha256:9dcca41c12a734192b14e7128ae116bc9ce1b9da686e2ebf48ae7a4415f76650
nvidia-cuda-runtime==13.5.37 --hash=sha256:df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d
nvidia-cuda-crt==13.5.37 --hash=sha256:e898b7f73d3035fa89915a3f7bf3b54a73e90249746111aed295822c4729bb29
END
}

if [ ! -f "$cache/ready" ]; then
  command -v python3 >/dev/null || die "needs python3"
  python3 -m pip --version >/dev/null 2>&1 || die "needs pip (Debian: python3-pip)"
  mkdir -p "$(dirname "$cache")"
  exec 9>"$cache.lock"
  flock 9
  if [ ! -f "$cache/ready" ]; then
    echo "cuda_headers.sh: fetching CUDA's headers into $cache" >&2
    work=$cache.work
    rm -rf "$work" "$cache"
    mkdir -p "$work/wheels" "$work/tree"
    requirements >"$work/requirements.txt"
    # One set of wheels for every machine: headers do not differ, and so one set of checksums is enough.
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
      --platform manylinux_2_25_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
      --dest "$work/wheels" --requirement "$work/requirements.txt" >"$work/pip.log" 2>&1 || {
      tail -n 15 "$work/pip.log" >&2
      die "pip could not fetch the wheels (its last lines are above)"
    }
    for wheel in "$work"/wheels/*.whl; do
      python3 -m zipfile -e "$wheel" "$work/tree"
    done
    [ -f "$work/tree/nvidia/cu13/include/cupti.h" ] || die "the wheels hold no cupti.h"
    touch "$work/tree/ready"
    mv "$work/tree" "$cache"
    rm -rf "$work"
  fi
  exec 9>&-
fi
echo "$include"
