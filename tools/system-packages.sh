#!/usr/bin/env bash
# The system packages of this project: what needs them, and their names in Debian. Nothing else installs any.
#   tools/system-packages.sh GROUP [PACKAGE…]
# Installs what of the group is missing when this user may (root, or sudo without a password); otherwise says exactly
# what to install and exits 1. Packages given by name are installed in any case.
set -euo pipefail

group=${1:-}
shift || true

# One line for each need: the command looked for, then the package that brings it.
case $group in
  venv) needs="" ;;             # the caller names the package: it goes with the version of Python
  # The browser of the tests, and what makes sandboxes; the rest comes from the package index.
  test) needs=$'chromium chromium\nbwrap bubblewrap' ;;
  # npm fetches the real CLI, and brings the Node it needs.
  real) needs=$'npm npm\nbwrap bubblewrap' ;;
  bench) needs="node nodejs" ;; # runs the JavaScript side of the comparison
  *)
    echo "usage: tools/system-packages.sh venv|test|real|bench [PACKAGE…]" >&2
    exit 2
    ;;
esac

missing=("$@")
while read -r command package; do
  if [[ -n $command ]] && ! command -v "$command" >/dev/null 2>&1; then
    missing+=("$package")
  fi
done <<<"$needs"
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  as_root=(sudo -n)
fi
if ! command -v apt-get >/dev/null 2>&1 || ! "${as_root[@]}" true 2>/dev/null; then
  {
    echo "Missing on this machine: ${missing[*]} (names of Debian packages)."
    echo "Install with:  sudo apt-get install ${missing[*]}"
    echo "and run the same command again."
  } >&2
  exit 1
fi

echo "Installing system packages: ${missing[*]} …"
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}")
# A machine that has never fetched its package lists does so now.
if ! "${install[@]}" </dev/null >/dev/null 2>&1; then
  "${as_root[@]}" apt-get update -q </dev/null >/dev/null
  "${install[@]}" </dev/null >/dev/null
fi
