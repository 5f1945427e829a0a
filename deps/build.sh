# Configures and builds with CMake and Ninja, showing only how far it is; the full output is in build/PRESET/*.log.
# shellcheck shell=bash

# A compiler of a heavy file takes some 1.5 GB: no more at once than there are cores and memory for.
build_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1.5e6) }' /proc/meminfo)
  ((memory >= 1)) || memory=1
  echo $((cores < memory ? cores : memory))
}

# What a configuration depends on besides the sources, which Ninja watches.
configuration_key() { # PRESET
  echo "preset $1, in $root, prefix ${CMAKE_PREFIX_PATH-}, ${CXX-} ${CXXFLAGS-} ${LDFLAGS-}"
  echo "system $os_id $os_version, wheels $(cat "$deps"/wheels-*.txt | cksum) $wheel_set"
  echo "launcher $(compiler_cache "$1")"
  echo "optional $(installed_optional)"
}

# A module is built where its library is: one that came later is looked for anew.
installed_optional() {
  command -v dpkg-query >/dev/null || return 0
  { sed -n 's/^\([^# ]*\)? .*/\1/p' "$deps/apt.txt" | xargs dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null || true; } |
    sed -n 's/ installed$//p' | tr '\n' ' '
}

# Where there is ccache, what was compiled before, in this copy or another one, is not compiled again. A folder that was
# built without it stays so: ./test, which installs it, would compile again what ./evener has compiled.
compiler_cache() { # PRESET
  ! command -v ccache >/dev/null || grep -qsx 'launcher ' "$root/build/$1/configured" || echo ccache
}

# Two copies share what they compile if ccache takes paths relative to each. What the user has set, in his environment
# or ccache.conf, stands. The size does too: a preset takes less than 0.1 GB of the 5 that ccache keeps by itself.
use_compiler_cache() { # PRESET
  local unset
  [[ -n $(compiler_cache "$1") ]] || return 0
  unset=$(ccache --show-config 2>/dev/null | sed -n 's/^(default) \([a-z_]*\) =.*/\1/p')
  ! grep -qx base_dir <<<"$unset" || export CCACHE_BASEDIR=$root
  ! grep -qx hash_dir <<<"$unset" || export CCACHE_NOHASHDIR=1
}

configure() { # PRESET TESTS(ON|OFF)
  local preset=$1 tests=$2 folder=$root/build/$1 key log start=$SECONDS
  local options=() launcher
  log=$folder/configure.log
  launcher=$(compiler_cache "$preset")
  key=$(configuration_key "$preset")
  # Continuous integration refuses warnings in each preset, so that the presets share the tests' objects.
  if [[ $tests == ON && ${CI-} == true ]]; then key+=$'\n'werror options+=(-DEVENER_WERROR=ON); fi
  # Once a folder builds the tests it keeps them: switching back and forth would configure each time.
  if [[ $tests == ON ]]; then key+=$'\n'tests; elif grep -qsx tests "$folder/configured"; then key+=$'\n'tests tests=ON; fi
  if [[ -f $folder/build.ninja && $(cat "$folder/configured" 2>/dev/null) == "$key" ]]; then return 0; fi
  # What was found for another folder, compiler or system must not be believed.
  if [[ -f $folder/CMakeCache.txt ]] && ! head -n 2 "$folder/configured" 2>/dev/null | cmp -s - <(head -n 2 <<<"$key"); then
    rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
  fi
  mkdir -p "$folder"
  rm -f "$folder/configured"
  say "configuring ($preset)"
  options+=("-DEVENER_BUILD_TESTS=$tests" "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher")
  # A precompiled header is another file in each copy, and nothing that includes it is found in the cache.
  options+=("-DCMAKE_DISABLE_PRECOMPILE_HEADERS=$([[ -n $launcher ]] && echo ON || echo OFF)")
  if ! (cd "$root" && cmake --preset "$preset" "${options[@]}") >"$log" 2>&1; then
    show_log "$log"
    rm -f "$deps_dir"/packages-* # next time look again at what is there
    die "CMake could not configure the build." "The full output is in $log"
  fi
  printf '%s\n' "$key" >"$folder/configured"
  write_compile_commands "$preset"
  note_step "configure-$preset" $((SECONDS - start)) 0 0
}

# For clangd and clang-tidy, which look in the folder of the repository; a link that somebody has made there stays. Those
# of the preset that everybody has: sanitizers' would tell nothing else.
write_compile_commands() { # PRESET
  local made=$root/build/$1/compile_commands.json written=$root/compile_commands.json
  [[ $1 == release && ! -L $written && ! $written -nt $made ]] || return 0
  python3 -B "$deps/compile_commands.py" "${made%/*}" "$written"
}

# Ninja goes by the date of modification: a file that came after the last build with an older date (cp -p, tar, rsync)
# would be missed. Such files get the present date.
renew_dates() { # PRESET
  local stamp=$root/build/$1/ready
  [[ -f $stamp ]] || return 0
  (cd "$root" && find src tests cmake CMakeLists.txt CMakePresets.json -type f -newercm "$stamp" ! -newer "$stamp" -exec touch -c {} +) 2>/dev/null || true
}

build() { # PRESET TARGET
  local preset=$1 target=$2 folder=$root/build/$1 log start=$SECONDS free
  log=$folder/build.log
  free=$(free_bytes "$folder")
  ((free > 500000000)) || die "not enough space for the build: $(megabytes "$free") free in $folder, 500 MB needed." 'Free some, then run the same command again.'
  : >"$log"
  renew_dates "$preset"
  use_compiler_cache "$preset"
  if ! NINJA_STATUS='[%f/%t] ' cmake --build "$folder" --target "$target" -j "$(build_jobs)" 2>&1 </dev/null |
    follow "building ($preset)" "$log"; then
    if grep -q "unknown target 'test_" "$log"; then
      die "the preset $preset has no tests of ${target#test_}." 'The reason stands in tests/CMakeLists.txt.'
    fi
    show_log "$log"
    if grep -q 'No space left on device' "$log"; then
      die 'the disk is full.' 'Free some space, then run the same command again.'
    elif grep -qE 'fatal error: Killed signal|cc1plus.*Killed' "$log"; then
      die 'the compiler ran out of memory.' 'Close other programs, then run the same command again.'
    fi
    die 'the build failed.' "The full output is in $log"
  fi
  write_compile_commands "$preset" # again if there are other files than before
  if grep -q ' warning: ' "$log"; then say "the compiler warned $(grep -c ' warning: ' "$log") times; see $log"; fi
  if grep '^\[[0-9]*/[0-9]*\]' "$log" | grep -qv 'Re-checking globbed'; then
    say "built ($preset) in $((SECONDS - start)) s"
    note_step "build-$preset" $((SECONDS - start)) 0 "$(du -sB1 "$folder" | cut -f1)"
  fi
}
