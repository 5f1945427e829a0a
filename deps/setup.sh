#!/usr/bin/env bash
# The set-up behind ./evener and ./test: packages, wheels, configuration, build, each only if it is needed.
#   setup.sh program              what ./evener needs
#   setup.sh tests PRESET TARGET  what ./test needs: all, or the test program of a room
#   setup.sh setup [OPTIONS]      ./evener setup
set -euo pipefail
exec {stdout}>&1 1>&2 # stdout belongs to the program

root=$(cd -P -- "${BASH_SOURCE[0]%/*}/.." && pwd)
deps=$root/deps
deps_dir=$root/.deps
# shellcheck source=deps/ui.sh
. "$deps/ui.sh"
# shellcheck source=deps/platform.sh
. "$deps/platform.sh"
# shellcheck source=deps/probe.sh
. "$deps/probe.sh"
# shellcheck source=deps/apt.sh
. "$deps/apt.sh"
# shellcheck source=deps/build.sh
. "$deps/build.sh"
# shellcheck source=deps/offline.sh
. "$deps/offline.sh"

stopped() {
  trap - INT TERM
  clear_progress
  say 'stopped; run the same command again to go on'
  exit 130
}

# Two set-ups of one copy at once would build over each other: the second waits.
take_lock() {
  mkdir -p "$deps_dir/tmp" "$deps_dir/log" 2>/dev/null || true
  [[ -w $deps_dir/tmp && -w $deps_dir/log ]] ||
    die "$deps_dir can't be written." 'The set-up writes into .deps/ and build/ of this folder; use a copy that belongs to you.'
  local foreign
  foreign=$(find "$deps_dir" "$root/build" -maxdepth 2 ! -writable ! -type l -print -quit 2>/dev/null) || true
  [[ -z $foreign ]] ||
    die "$foreign can't be written; was this copy set up as another user (sudo ./evener)?" "Give it back to yourself:  sudo chown -R $(id -un) .deps build"
  exec {lock}>"$deps_dir/lock"
  if ! flock -n "$lock"; then
    say 'another set-up of this copy is at work; waiting for it (Ctrl-C stops waiting)'
    flock "$lock"
  fi
}

ensure_wheels() {
  local lists=(--list "$deps/wheels-slim.txt") offline=()
  wheel_set=slim serves_gpu=no
  if gpu_wanted; then
    wheel_set=whole
    gpu_present || say 'set up for a GPU, though none is seen here (EVENER_WITH_CUDA=1)'
  elif grep -qsx whole "$deps_dir/wheel-set"; then
    wheel_set=whole # a copy shared by machines with and without a GPU keeps it
  fi
  if [[ -n $offline_dir ]]; then
    offline=(--offline --nearby "$offline_dir/wheels")
    if [[ $wheel_set == whole && $(<"$offline_dir/evener-offline") != *cuda=yes* ]]; then
      say "the offline folder has no CUDA libraries (made without --with-cuda): the GPU can't be used"
      wheel_set=slim serves_gpu=yes # yes: asking again at each start would not change it
    fi
  fi
  if [[ $wheel_set == whole ]]; then
    lists+=(--list "$deps/wheels-cuda.txt")
    serves_gpu=yes
  fi
  python3 -B "$deps/wheels.py" ensure "${lists[@]}" --also "$deps/wheels-cuda.txt" "${offline[@]}" \
    --cache "$deps_dir/wheels" --site "$deps_dir/site" --temporary "$deps_dir/tmp" || exit $?
  echo "$wheel_set" >"$deps_dir/wheel-set"
}

# The launcher compares this file with the system and the sources. It carries the time before the build, so that a
# file changed during the build is noticed.
write_stamp() { # PRESET
  local stamp=$root/build/$1/ready
  { printf '%s\n%s\n' "$root" "$serves_gpu" && cat /etc/os-release; } >"$stamp.new" 2>/dev/null || true
  touch -r "$deps_dir/tmp/started" "$stamp.new"
  mv "$stamp.new" "$stamp"
}

prepare() { # PRESET TESTS(ON|OFF) TARGET PACKAGE_LIST...
  local preset=$1 tests=$2 target=$3
  shift 3
  take_lock
  find_offline
  use_prefix
  : >"$deps_dir/tmp/started"
  ensure_packages "$@"
  ensure_wheels
  configure "$preset" "$tests"
  build "$preset" "$target"
  write_stamp "$preset"
}

trap stopped INT TERM
# Whatever is foreseen ends with die; nothing may end in silence.
set -E
trap 'say "the set-up failed unexpectedly: line $LINENO of ${BASH_SOURCE[0]##*/}: $BASH_COMMAND"' ERR
check_platform
case ${1-} in
  program) prepare release OFF src/all "$deps/apt.txt" ;; # the program and its modules
  tests) prepare "$2" ON "${3:-all}" "$deps/apt.txt" "$deps/apt-test.txt" ;;
  setup)
    shift
    setup_command "$@"
    ;;
  *) die "setup.sh: unknown action '${1-}'" ;;
esac
