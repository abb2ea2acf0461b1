#!/usr/bin/env bash
# Installs what dtc needs on a fresh Debian 12. Asks nothing; a second run only looks and is quick.
#   tools/setup.sh           the packages that building and running need
#   tools/setup.sh --tests   and those that some tests need, which are left out otherwise
# Everything is in Debian's own archive: LLVM and MLIR 22 come from bookworm-security, the rest from bookworm.
set -euo pipefail

packages=(
  # These are the compiler with its sanitizers, the linker and the MLIR that dtc is built on; clang-format and
  # clang-tidy 14 are Debian 12's.
  clang-22 libclang-rt-22-dev lld-22 liblld-22-dev llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  clang-format-14 clang-tidy-14
  # These tools build and test.
  cmake ninja-build ccache git g++ pkgconf python3 libgtest-dev libbenchmark-dev
  # dtc reads and writes with these.
  libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libflatbuffers-dev flatbuffers-compiler
  libxxhash-dev libzstd-dev zlib1g-dev libhwloc-dev libpugixml-dev libsodium-dev
  # dtrun computes and communicates with these.
  libdnnl-dev libopenblas-openmp-dev libopenmpi-dev openmpi-bin libgloo-dev prometheus-cpp-dev
)

die() {
  echo "setup.sh: $*" >&2
  exit 1
}

case "${1:-}" in
"") tests=0 ;;
--tests)
  # chromium opens the report's page; python3-venv makes build/test-venv; shells and groff read what dtc writes;
  # debootstrap makes the root of test/package; minisign checks signatures
  tests=1
  packages+=(chromium python3-venv fish zsh groff-base debootstrap minisign)
  ;;
*) die "'$1' is no option; there is --tests" ;;
esac

# Prints the packages that dpkg does not list as installed, one a line.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Abbrev}\t${Package}\n' "${packages[@]}" 2>/dev/null |
    awk -F'\t' '$1 ~ /^.i/ {print $2}' || true)
  printf '%s\n' "${packages[@]}" | grep -vxF -f <(printf '%s\n' "$installed" | sed '/^$/d') || true
}

# Installs the Python packages of test/run/data_build.py into a folder of their own.
python_packages() {
  [ "$tests" -eq 1 ] || return 0
  local venv wanted=(tokenizers==0.23.3 pyarrow==26.0.1)
  venv=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/test-venv
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/python" -c 'import tokenizers, pyarrow' 2>/dev/null ||
    "$venv/bin/pip" --quiet --disable-pip-version-check install "${wanted[@]}"
}

# Unpacks Debian's Prometheus for test/run/monitoring.py into a folder of its own: installed, it would run as a service.
prometheus_program() {
  [ "$tests" -eq 1 ] || return 0
  local folder work
  folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/test-prometheus
  if command -v prometheus >/dev/null && command -v promtool >/dev/null || [ -x "$folder/usr/bin/promtool" ]; then
    return 0
  fi
  work=$(mktemp -d)
  (cd "$work" && apt-get -q -o APT::Sandbox::User=root download prometheus && dpkg-deb -x prometheus_*.deb unpacked) ||
    die "apt-get download prometheus found nothing; run 'apt-get update' once as root"
  mkdir -p "$(dirname "$folder")"
  rm -rf "$folder"
  mv "$work/unpacked" "$folder"
  rm -rf "$work"
}

command -v dpkg-query >/dev/null || die "this machine has no dpkg; dtc is built on Debian 12 (bookworm)"
mapfile -t missing < <(missing_packages)
if [ "${#missing[@]}" -eq 0 ]; then
  python_packages
  prometheus_program
  echo "setup.sh: all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  sudo -n true 2>/dev/null ||
    die "installing ${missing[*]} needs root, and sudo asks for a password: run 'sudo $0 $*' once"
  as_root=(sudo -n)
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "$@" </dev/null
}

echo "setup.sh: installing ${missing[*]}"
apt update
for package in "${missing[@]}"; do
  candidate=$(apt-cache policy "$package" | sed -n 's/^  Candidate: //p')
  if [ -z "$candidate" ] || [ "$candidate" = "(none)" ]; then
    die "no package source of this machine has '$package'; Debian 12 has it in the suites" \
      "bookworm (main) and bookworm-security (main), which /etc/apt/sources.list has to name"
  fi
done
apt install -y --no-install-recommends "${missing[@]}"

mapfile -t missing < <(missing_packages)
[ "${#missing[@]}" -eq 0 ] || die "apt-get ended well, but these packages are still missing: ${missing[*]}"
python_packages
prometheus_program
echo "setup.sh: done"
