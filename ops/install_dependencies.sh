#!/usr/bin/env bash
# Installs what Eroica needs from Debian 12. This is the one list of packages. Where all are there it does nothing and touches no network.
#   ops/install_dependencies.sh               to build and run eroica and its demo
#   ops/install_dependencies.sh --tests       and to run every test (a real Kafka broker: Java and Maven; its certificates; subscribers; Debian packages, manifests; mold)
#   ops/install_dependencies.sh --developer   and to work on it (clang, clang-tidy, clang-format)
set -euo pipefail

packages=(
  # Build tools.
  ca-certificates
  ccache
  cmake
  flatbuffers-compiler
  g++
  ninja-build
  pkg-config
  python3
  # The demo trains with it.
  python3-numpy
  # Libraries.
  libabsl-dev
  libbenchmark-dev
  libboost-dev
  libcli11-dev
  libflatbuffers-dev
  libfmt-dev
  libgmock-dev
  libgtest-dev
  libjemalloc-dev
  liblz4-dev
  librdkafka-dev
  librocksdb-dev
  libsimdjson-dev
  libspdlog-dev
  libssl-dev
  libtomlplusplus-dev
  libxxhash-dev
  libzstd-dev
  nlohmann-json3-dev
  prometheus-cpp-dev
  zlib1g-dev
)
test_packages=(
  chromium
  debootstrap
  dpkg-dev
  file
  fish
  fonts-liberation
  kcat
  man-db
  maven
  mold
  openjdk-17-jre-headless
  openssl
  podman
  python3-confluent-kafka
  python3-flatbuffers
  python3-jsonschema
  python3-pip
  python3-venv
  python3-yaml
  runc
  strace
  zsh
)
developer_packages=(
  clang-16
  clang-format
  clang-tidy-16
  git
  libclang-rt-16-dev
  lintian
  llvm
)

case "${1:-}" in
  "") ;;
  --tests) packages+=("${test_packages[@]}") ;;
  --developer) packages+=("${test_packages[@]}" "${developer_packages[@]}") ;;
  *)
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "install_dependencies.sh: this is no Debian system; install the equivalents of: ${packages[*]}" >&2
  exit 1
fi

installed=$(dpkg-query --show --showformat '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
  sed -n 's/ installed$//p' || true)
missing=()
for package in "${packages[@]}"; do
  grep --quiet --line-regexp --fixed-strings -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install_dependencies.sh: run as root: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "installing ${#missing[@]} Debian packages: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet "$@" >"$log" 2>&1; }
if ! apt update --option APT::Update::Error-Mode=any || ! apt install --yes --no-install-recommends "${missing[@]}"; then
  tail -n 15 "$log" >&2
  echo "install_dependencies.sh: apt-get failed (its last lines are above). Is the Debian mirror reachable, and is this Debian 12?" \
    "Then run this again, or install by hand: apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
