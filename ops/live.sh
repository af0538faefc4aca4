#!/usr/bin/env bash
# Builds Eroica, runs real training jobs under it and judges what it finds (tests/live/matrix.py).
#   ops/live.sh                        the demo's NumPy jobs, each once
#   ops/live.sh --repeat 3 --plain     three times, and without Eroica too: what it costs
#   ops/live.sh --torch VENV           PyTorch jobs too, with the PyTorch of a virtual environment
#   ops/live.sh --frameworks --torch VENV   the loops of frameworks: Lightning, Accelerate, Trainer, mpirun, JAX,
#                                      and where they are installed Ray Train, DeepSpeed, Slurm
#   ops/live.sh --endings              how jobs end, with and without Eroica; with --torch PyTorch's
# Further options go to the matrix: --cases, --keep, --json, --markdown, --window-steps; with
# --endings to tests/live/endings/endings.py: --cells, --jobs, --json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

options=()
endings=
venv=
while [ $# -gt 0 ]; do
  case "$1" in
    --torch)
      if [ $# -lt 2 ] || ! "$2/bin/python" -c "import torch, numpy" 2>/dev/null; then
        echo "live.sh: --torch names a virtual environment with torch and numpy" >&2
        exit 2
      fi
      venv=$2
      shift 2
      ;;
    --endings)
      endings=1
      shift
      ;;
    --frameworks)
      options+=(--file tests/live/frameworks/frameworks.toml)
      shift
      ;;
    --help | -h)
      sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      options+=("$1")
      shift
      ;;
  esac
done

# NumPy of Debian belongs to the interpreter of Debian, which need not be the first one in PATH.
numpy_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c "import numpy" 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  return 1
}

ops/install_dependencies.sh
ops/build.sh release
python=$(numpy_python)
if [ -n "$endings" ]; then
  exec "$python" tests/live/endings/endings.py ${venv:+--torch "$venv"} \
    ${options[@]+"${options[@]}"}
fi
# The matrix reads TOML: Python 3.11, which Debian 12 has.
exec /usr/bin/python3 tests/live/matrix.py --numpy-python "$python" \
  ${venv:+--torch-python "$venv/bin/python"} ${options[@]+"${options[@]}"}
