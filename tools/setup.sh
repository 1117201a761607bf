#!/usr/bin/env bash
# Make .venv ready: `tools/setup.sh run` for the product, `test` for its tests and tools too, `bench` for what it is
# measured beside as well.
# Needs Python 3.11 or newer and a package index. Set PYTHON to choose the interpreter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The pip of a fresh environment may be too old to know dependency groups (25.1 brought them).
PIP_VERSION=26.3

purpose=${1:-}
if [[ $purpose != run && $purpose != test && $purpose != bench ]]; then
  echo "usage: tools/setup.sh run|test|bench" >&2
  exit 2
fi

# An executable may be there and not work (a version manager's placeholder), so each candidate is asked.
new_enough() {
  command -v "$1" >/dev/null 2>&1 &&
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 </dev/null
}

choose_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if new_enough "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  {
    echo "Switchboard needs Python 3.11 or newer, and found none under: ${PYTHON:-python3 python3.13 python3.12 python3.11}."
    echo "Install it (Debian 12 or newer: apt-get install python3 python3-venv), or name one: PYTHON=/path/to/python3 make …"
  } >&2
  return 1
}

make_environment() {
  local python
  python=$(choose_python)
  if ! "$python" -c 'import venv; from ensurepip import bootstrap' >/dev/null 2>&1; then
    # Debian keeps this part of Python in a package of its own, one for each version.
    tools/system-packages.sh venv "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    if ! "$python" -c 'import venv; from ensurepip import bootstrap' >/dev/null 2>&1; then
      echo "$python cannot make virtual environments (no ensurepip). Name another one: PYTHON=/path/to/python3 make …" >&2
      return 1
    fi
  fi
  echo "Making .venv with $("$python" --version) …"
  "$python" -m venv --clear .venv
}

if ! new_enough .venv/bin/python || ! .venv/bin/python -c 'import pip' >/dev/null 2>&1; then
  make_environment
fi

pip=(.venv/bin/python -m pip --disable-pip-version-check --quiet --no-input)
if [[ $("${pip[@]}" --version) != "pip $PIP_VERSION "* ]]; then
  "${pip[@]}" install "pip==$PIP_VERSION"
fi

echo "Installing pinned packages into .venv …"
wanted=(--constraint tools/constraints.txt --editable .)
if [[ $purpose != run ]]; then
  wanted+=(--group dev)
fi
if [[ $purpose == bench ]]; then
  wanted+=(--group bench)
fi
"${pip[@]}" install "${wanted[@]}"

touch .venv/.ready-to-run
if [[ $purpose != run ]]; then
  touch .venv/.ready-to-test
fi
if [[ $purpose == bench ]]; then
  touch .venv/.ready-to-bench
fi
