#!/usr/bin/env bash
# Fetches uPlot anew with npm and writes uplot.js, uplot.min.css and LICENSE beside this script. For
# whoever takes a newer version; a build needs neither npm nor the network.
#   ops/dashboard/third_party/uplot/fetch.sh [VERSION]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=${1:-1.6.32}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "uplot@$version" >/dev/null
sha256sum "uplot-$version.tgz"
tar -xzf "uplot-$version.tgz"
# The minified script is a classic one that defines uPlot: with an export it is a module.
{
  cat package/dist/uPlot.iife.min.js
  echo 'export default uPlot;'
} >"$here/uplot.js"
cp package/dist/uPlot.min.css "$here/uplot.min.css"
cp package/LICENSE "$here/LICENSE"
cd "$here"
sha256sum uplot.js uplot.min.css LICENSE
