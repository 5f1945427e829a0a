# ./evener setup, and the folder for machines without a network: made by one set-up, used by another.
#   DIR/evener-offline   what it was made for      DIR/wheels, DIR/debs   what gets installed
#   DIR/evener           the source tree           DIR/README.txt         how to use it
# shellcheck shell=bash

offline_dir=''

setup_usage() {
  cat <<'END'
Usage: ./evener setup [--with-cuda | --without-cuda] [--offline DIR]

Sets up what is missing (packages, wheels, build) without running the program. Every other use of ./evener does so
by itself. It writes into .deps/ and build/ of this folder, and installs packages with apt.

  --offline DIR    prepare DIR for machines of this release without a network: packages with all they depend on,
                   wheels, the source tree, and a note how to use it. Nothing is installed here.
  --with-cuda      fetch the CUDA libraries though no GPU is seen here (the default is what this machine has)
  --without-cuda   do without them though there is a GPU
  --help           this text

Environment:
  EVENER_WITH_CUDA=1|0  like --with-cuda, --without-cuda
  EVENER_PREFIX=DIR:... folders with bin/, include/, lib/ that have what apt would install otherwise
  EVENER_OFFLINE=DIR    the folder made by --offline (found by itself in the copy that lies inside of it)
  EVENER_NO_SUDO=1      don't try sudo

Examples:
  ./evener setup
  ./evener setup --offline /media/stick/evener-debian12 --with-cuda
END
}

setup_command() {
  local target=''
  while (($#)); do
    case $1 in
      --help | -h) setup_usage >&"$stdout" && return ;;
      --with-cuda) export EVENER_WITH_CUDA=1 ;;
      --without-cuda) export EVENER_WITH_CUDA=0 ;;
      --offline) [[ -n ${2-} ]] || bad_usage '--offline needs a folder'; target=$2 && shift ;;
      --offline=?*) target=${1#*=} ;;
      *) bad_usage "unknown argument $1" ;;
    esac
    shift
  done
  if [[ -n $target ]]; then
    make_offline "$target"
  else
    prepare release OFF src/all "$deps/apt.txt"
    say 'ready; see ./evener --help'
  fi
}

bad_usage() {
  printf 'evener setup: %s\nSee ./evener setup --help\n' "$1"
  exit 2
}

# ---- using such a folder

find_offline() {
  local folder
  if [[ -n ${EVENER_OFFLINE-} && ! -f $EVENER_OFFLINE/evener-offline ]]; then
    die "EVENER_OFFLINE=$EVENER_OFFLINE is not a folder made by ./evener setup --offline."
  fi
  for folder in "${EVENER_OFFLINE-}" "$deps_dir/offline" "$root/.."; do
    [[ -n $folder && -f $folder/evener-offline ]] || continue
    offline_dir=$(cd -- "$folder" && pwd)
    say "uses the offline folder $offline_dir"
    return
  done
}

# Makes apt read the folder and nothing else, with lists of its own beside those of the system.
use_offline_packages() {
  local made_for
  [[ -n $offline_dir ]] || return 0
  made_for=$(sed -n 's/^system=//p' "$offline_dir/evener-offline")
  [[ $made_for == "$os_id $os_version" ]] ||
    die "the offline folder was made for $made_for; this is $os_id $os_version." 'Make one on a machine of this release: ./evener setup --offline DIR'
  mkdir -p "$deps_dir/tmp/lists/partial"
  printf 'deb [trusted=yes] file:%s ./\n' "${offline_dir// /%20}/debs" >"$deps_dir/tmp/offline.list"
  apt_source=(-o "Dir::Etc::sourcelist=$deps_dir/tmp/offline.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$deps_dir/tmp/lists" -o APT::Sandbox::User=root -o Acquire::Languages=none)
}

# ---- making one

make_offline() { # DIR
  local target=$1 lists=(--list "$deps/wheels-slim.txt") cuda=no
  mkdir -p -- "$target" 2>/dev/null && target=$(cd -P -- "$target" && pwd) || die "$1 can't be made or entered."
  [[ $target/ != "$root"/* ]] || die "$target lies inside of this copy, which would be copied into itself." 'Choose a folder outside.'
  [[ -f $target/evener-offline || -z $(ls -A -- "$target") ]] ||
    die "$target is not empty." 'Choose a new folder, or one that ./evener setup --offline made.'
  take_lock
  if gpu_wanted; then
    cuda=yes
    lists+=(--list "$deps/wheels-cuda.txt")
  else
    say 'without the CUDA libraries; --with-cuda adds them (2.0 GB more)'
  fi
  printf 'system=%s %s\ncuda=%s\n' "$os_id" "$os_version" "$cuda" >"$target/evener-offline"
  python3 -B "$deps/wheels.py" fetch "${lists[@]}" --cache "$target/wheels" --site "$deps_dir/site" --nearby "$deps_dir/wheels" --temporary "$deps_dir/tmp" || exit $?
  collect_packages "$target/debs"
  copy_sources "$target/evener"
  write_note "$target"
  say "$target is ready: $(megabytes "$(du -sB1 -- "$target" | cut -f1)"); how to use it stands in README.txt there"
}

# All packages with everything they depend on, as if nothing were installed: the other machine may have less than this
# one. apt does that for any user, with a status file and lists of its own.
collect_packages() { # FOLDER
  local folder=$1 state=$deps_dir/tmp/apt log=$deps_dir/log/apt.log package names=() options
  if ! apt_release; then
    say "this is $os_name: packages are left out, they can be collected on $supported only"
    return
  fi
  rm -rf "$state" "$folder" && mkdir -p "$state/lists/partial" "$state/cache" "$folder/partial" && : >"$state/status" && : >"$log"
  options=(-o "Dir::State::status=$state/status" -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache"
    -o "Dir::Cache::archives=$folder" -o APT::Sandbox::User=root -o Debug::NoLocking=true -o Acquire::Languages=none)
  as_root=() apt_source=("${options[@]}")
  update_lists
  while read -r package _; do
    [[ -z $package || $package == '#'* || $package == 'chromium?' ]] || names+=("${package%\?}")
  done < <(cat "$deps/apt.txt" "$deps/apt-test.txt")
  find_offered "${names[@]}"
  apt_get install --download-only -y --no-install-recommends "${offered[@]}" 2>&1 | follow 'packages' "$log" ||
    explain_apt_failure "$log"
  rm -rf "$folder/partial" "$folder/lock" "$state"
  index_packages "$folder"
  say "packages: $(find "$folder" -name '*.deb' | wc -l) files, $(megabytes "$(du -sB1 -- "$folder" | cut -f1)")"
}

# The index that apt needs to install from a folder; dpkg-scanpackages would need a package of its own.
index_packages() { # FOLDER
  local file
  for file in "$1"/*%3a*.deb; do
    mv "$file" "${file//%3a/.}" # apt would look for the decoded name, which not every disk can hold
  done
  for file in "$1"/*.deb; do
    dpkg-deb -f "$file"
    printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "${file##*/}" "$(stat -c %s "$file")" "$(sha256sum <"$file" | cut -d' ' -f1)"
  done >"$1/Packages"
}

# What git tracks or would track, as it stands here; without git everything that the set-up did not make.
copy_sources() { # FOLDER
  rm -rf -- "$1" && mkdir -p -- "$1"
  if git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git -C "$root" ls-files -z --cached --others --exclude-standard | (cd "$root" && xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh) |
      tar -C "$root" --null -T - -cf - | tar -C "$1" -xf -
  else
    tar -C "$root" --exclude=./.deps --exclude=./build --exclude=./.git -cf - . | tar -C "$1" -xf -
  fi
}

write_note() { # FOLDER
  cat >"$1/README.txt" <<END
evener for machines without a network, made for $os_name ($os_id $os_version, x86_64).

1. Copy this whole folder to the other machine, onto a disk that can be written (4 GB free; 10 GB with CUDA).
2. There:   cd evener && ./evener demo
   It finds the packages and wheels beside it; nothing is fetched. Installing packages needs root or sudo.
   For a copy of the source tree elsewhere:   EVENER_OFFLINE=/path/of/this/folder ./evener demo

CUDA libraries included: $(sed -n 's/^cuda=//p' "$1/evener-offline")
The tests (./test) work too; the one that opens a report in Chromium is skipped where there is no Chromium.
END
}
