# Finds what is needed where it does not come from apt: environment modules, a prefix, another package manager.
# EVENER_PREFIX (folders separated by colons) is searched first, then what CMAKE_PREFIX_PATH and PATH say; it is
# remembered until it is given again.
# shellcheck shell=bash

use_prefix() {
  local folder folders
  [[ -z ${EVENER_PREFIX+given} ]] || printf '%s\n' "$EVENER_PREFIX" >"$deps_dir/prefix"
  [[ -f $deps_dir/prefix ]] || return 0
  IFS=: read -ra folders <"$deps_dir/prefix"
  for folder in "${folders[@]}"; do
    export PATH="$folder/bin:$PATH"
    export CMAKE_PREFIX_PATH="$folder${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
    export PKG_CONFIG_PATH="$folder/lib/pkgconfig:$folder/lib64/pkgconfig:$folder/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
  done
}

version_at_least() { # HAVE WANTED
  [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]
}

probe_command() { # COMMAND LOWEST
  local command=$1 version
  [[ $command != g++ ]] || command=${CXX:-g++}
  command -v "${command%% *}" >/dev/null || return 1
  version=$(${command} --version 2>&1 | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1) || true
  [[ -z $version ]] || version_at_least "$version" "$2"
}

probe_in_words() { # PROBE LOWEST
  case $1 in
    cmd:*) echo "command ${1#cmd:}, version $2 or newer" ;;
    py:*) echo "Python module ${1#py:}" ;;
    file:*) echo "file ${1#file:}" ;;
    pkg:*) echo "pkg-config module ${1#pkg:}, version $2 or newer" ;;
    cmake:*) echo "CMake package ${1#cmake:}, version $2 or newer" ;;
  esac
}

# A small project asks CMake for all libraries in one go, with the calls that the real one uses.
probe_libraries() { # PROBE=LOWEST... ; prints the probes that were found
  local folder=$deps_dir/tmp/probe item kind name lowest
  rm -rf "$folder" && mkdir -p "$folder"
  {
    printf 'cmake_minimum_required(VERSION 3.22)\nproject(probe LANGUAGES CXX)\nfind_package(PkgConfig)\n'
    for item in "$@"; do
      lowest=${item#*=} kind=${item%%:*} name=${item%%=*} name=${name#*:}
      if [[ $kind == pkg ]]; then
        printf 'if(PKG_CONFIG_FOUND)\n pkg_check_modules(P_%s QUIET "%s>=%s")\nendif()\n' "$name" "$name" "$lowest"
        printf 'if(P_%s_FOUND)\n message("found: pkg:%s")\nendif()\n' "$name" "$name"
      else
        # Modules older than CMake 3.26 call the version so; without any it is taken as it is.
        printf 'find_package(%s QUIET)\nset(version "${%s_VERSION}")\n' "$name" "$name"
        printf 'if(NOT version)\n set(version "${%s_VERSION_STRING}")\nendif()\n' "$name"
        printf 'if(%s_FOUND AND (NOT version OR NOT version VERSION_LESS %s))\n message("found: cmake:%s")\nendif()\n' \
          "$name" "$lowest" "$name"
      fi
    done
  } >"$folder/CMakeLists.txt"
  cmake -G Ninja -S "$folder" -B "$folder/build" 2>&1 | tee "$deps_dir/log/probe.log" | sed -n 's/^found: //p'
}

# probe_all "PROBE LOWEST"...: prints those that are there.
probe_all() {
  local entry probe lowest libraries=()
  for entry in "$@"; do
    read -r probe lowest <<<"$entry"
    case $probe in
      cmd:*) ! probe_command "${probe#cmd:}" "$lowest" || echo "$probe" ;;
      py:*) ! python3 -m "${probe#py:}" --version >/dev/null 2>&1 || echo "$probe" ;;
      file:*) [[ ! -e ${probe#file:} ]] || echo "$probe" ;;
      *) libraries+=("$probe=$lowest") ;;
    esac
  done
  ((${#libraries[@]} > 0)) || return 0
  if probe_command g++ 11 && probe_command cmake 3.22 && probe_command ninja 1.10; then
    probe_libraries "${libraries[@]}"
  fi
}
