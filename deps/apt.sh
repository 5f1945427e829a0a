# Packages of the system: which are missing, and installing them with apt, as root or through sudo.
# shellcheck shell=bash

# Sets missing=() to the packages of the lists that are neither installed nor found elsewhere, optional=() likewise
# for those with a question mark, and wanted=() to a line for each missing one that says what is looked for.
find_missing() { # LIST...
  local package lowest probe have entry found=() unknown=()
  declare -A installed=()
  missing=() optional=() wanted=()
  if command -v dpkg-query >/dev/null; then
    while read -r package have; do
      [[ -z $have ]] || installed[${package%%:*}]=$have
    done < <(dpkg-query -W -f '${Package} ${db:Status-Status} ${Version}\n' 2>/dev/null | sed -n 's/ installed / /p')
  fi
  while read -r package lowest probe; do
    [[ -n $package && $package != '#'* ]] || continue
    have=${installed[${package%\?}]-}
    [[ -n $have ]] && dpkg --compare-versions "${have#*:}" ge "$lowest" && continue
    unknown+=("$package $probe $lowest")
  done < <(cat "$@")
  ((${#unknown[@]} > 0)) || return 0
  mapfile -t found < <(probe_all "${unknown[@]#* }")
  for entry in "${unknown[@]}"; do
    read -r package probe lowest <<<"$entry"
    [[ " ${found[*]-} " != *" $probe "* ]] || continue
    if [[ $package == *\? ]]; then optional+=("${package%\?}"); else missing+=("$package") wanted+=("$package: $(probe_in_words "$probe" "$lowest")"); fi
  done
}

# Sets as_root=() to what must stand before a command that needs rights; false if there is no way to get them.
get_rights() {
  as_root=()
  ((EUID != 0)) || return 0
  [[ ${EVENER_NO_SUDO-} != 1 ]] && command -v sudo >/dev/null || return 1
  as_root=(sudo -n)
  ! sudo -n true 2>/dev/null || return 0
  [[ -t 0 && -t 2 ]] || return 1
  say 'sudo asks for your password to install packages (EVENER_NO_SUDO=1 does without).'
  as_root=(sudo)
  sudo -v
}

apt_source=() # options that make apt read an offline folder instead of the system's sources

apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 LC_ALL=C \
    apt-get -q -o DPkg::Lock::Timeout=600 -o APT::Status-Fd=2 "${apt_source[@]}" "$@" </dev/null {lock}>&- # a service that apt starts must not hold our lock
}

# Sets offered=() to those of the packages that apt knows. An unknown "g++" it takes for a regular expression and tells
# of every package with a g in it.
find_offered() { # PACKAGE...
  offered=()
  (($# > 0)) || return 0
  mapfile -t offered < <(LC_ALL=C apt-cache "${apt_source[@]}" policy "$@" 2>/dev/null |
    awk '/^[^ ]+:$/ { name = substr($1, 1, length($1) - 1) } $1 == "Candidate:" && $2 != "(none)" { print name }' |
    { grep -xF "$(printf '%s\n' "$@")" || true; }) # none: apt has read no lists yet
}

update_lists() {
  local log=$deps_dir/log/apt.log try
  for try in 1 2 3 4 5 6 7 8 9 10; do
    say 'apt: reading the package lists'
    if apt_get update 2>&1 | follow 'apt lists' "$log" && ! tail -n 5 "$log" | grep -q '^E: '; then return 0; fi
    # Only this lock has no waiting time in apt itself.
    tail -n 5 "$log" | grep -q 'Could not get lock' || break
    ((try < 10)) && say 'apt: another program holds the package lists; waiting' && sleep 15
  done
  explain_apt_failure "$log"
}

explain_apt_failure() { # LOG
  local log=$1 what='apt failed.' advice=()
  show_log "$log"
  if grep -qiE 'No space left|enough free space' "$log"; then
    what='the disk is full.' advice=("Free some space (now free on /: $(megabytes "$(free_bytes /)")), then run the same command again.")
  elif grep -qE 'Temporary failure resolving|Could not (connect|resolve)|Connection (timed out|refused|failed)|Network is unreachable|Failed to fetch|Unable to fetch' "$log"; then
    what="apt could not fetch packages from the network."
    advice=('Check the connection and the proxy settings, then run the same command again; what was fetched is kept.'
      'For a machine without a network: ./evener setup --offline DIR on one that has it.')
  elif grep -q 'Could not get lock' "$log"; then
    what='another program is using apt.' advice=('Wait until it has finished, then run the same command again.')
  else
    advice=('Mend what apt complains about, then run the same command again.')
  fi
  die "$what" "${advice[@]}"
}

# A set-up that was interrupted while dpkg was at work leaves packages half configured; apt refuses to go on then.
repair_dpkg() {
  [[ -n $(dpkg --audit 2>/dev/null) || -n $(ls -A /var/lib/dpkg/updates 2>/dev/null) ]] || return 0
  say 'apt: finishing an earlier installation that was interrupted'
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive dpkg --configure -a </dev/null >>"$deps_dir/log/apt.log" 2>&1 || true
  apt_get -f -y install >>"$deps_dir/log/apt.log" 2>&1 || true
}

# "20.6 MB" or "1,234 kB" in apt's words, as bytes.
apt_bytes() { # TEXT PATTERN
  sed -nE "s/.*$2 ([0-9.,]+) ([kMG]?)B.*/\\1 \\2/p" <<<"$1" | tr -d , |
    awk '{ f[""] = 1; f["k"] = 1e3; f["M"] = 1e6; f["G"] = 1e9; printf "%d", $1 * f[$2]; found = 1 } END { if (!found) print 0 }'
}

install_packages() { # PACKAGE...
  local log=$deps_dir/log/apt.log plan fetch disk free start=$SECONDS
  : >"$log"
  repair_dpkg
  find_offered "$@"
  if ((${#offered[@]} < $#)) || ((${#apt_source[@]} > 0)); then update_lists; fi
  find_offered "$@"
  local package unknown=()
  for package in "${missing[@]}"; do
    [[ " ${offered[*]-} " == *" $package "* ]] || unknown+=("$package")
  done
  ((${#unknown[@]} == 0)) ||
    die "apt on $os_name offers no ${unknown[*]}." 'Is a part of the archive switched off (Ubuntu: universe), or the offline folder made for another release?' \
      'Otherwise install it by other means and name its folder: EVENER_PREFIX=/path'
  plan=$(apt_get install --assume-no --no-install-recommends "${offered[@]}" 2>&1) || true
  fetch=$(apt_bytes "$plan" 'Need to get') disk=$(apt_bytes "$plan" 'After this operation,')
  say "apt: installing ${offered[*]}"
  say "apt: $(grep -oE '[0-9]+ newly installed' <<<"$plan" || true), $(megabytes "$fetch") to fetch, $(megabytes "$disk") on disk"
  free=$(free_bytes /usr)
  ((free > fetch + disk)) ||
    die "not enough space on the system disk: $(megabytes "$free") free, $(megabytes $((fetch + disk))) needed." 'Free some, then run the same command again.'
  if ! run_install "$log" && { grep -q '^E: ' "$log" && grep -qE '404|Failed to fetch' "$log"; }; then
    : >"$log" # the lists were older than the archive
    update_lists
    run_install "$log" || explain_apt_failure "$log"
  elif ((install_failed)); then
    explain_apt_failure "$log"
  fi
  note_step packages $((SECONDS - start)) "$fetch" "$disk"
  say "apt: done in $((SECONDS - start)) s"
}

run_install() { # LOG
  install_failed=0
  apt_get install -y --no-install-recommends "${offered[@]}" 2>&1 | follow 'apt' "$1" || install_failed=1
  return $install_failed
}

apt_line() { echo "apt-get update && apt-get install -y --no-install-recommends $*"; }

# Optional packages are tried, or spoken of, once.
drop_tried_optional() {
  local package left=() tried=$deps_dir/log/optional-tried
  for package in "${optional[@]}"; do
    grep -qsxF "$package" "$tried" || left+=("$package")
  done
  optional=("${left[@]}")
  ((${#optional[@]} == 0)) || printf '%s\n' "${optional[@]}" >>"$tried"
}

# ensure_packages LIST...: the one entry of this file. What was found there is believed until packages, paths or lists
# change: looking elsewhere than in apt takes seconds.
ensure_packages() {
  local known=$deps_dir/packages-$#
  [[ $(cat "$known" 2>/dev/null) != "$(packages_key "$@")" ]] || return 0
  install_missing "$@"
  packages_key "$@" >"$known"
}

packages_key() { # LIST...
  echo "$(cat "$@" | cksum) $os_id $os_version ${CXX-} ${CMAKE_PREFIX_PATH-} $PATH $(stat -c %y /var/lib/dpkg/status 2>/dev/null)"
}

install_missing() { # LIST...
  find_missing "$@"
  drop_tried_optional
  ((${#missing[@]} + ${#optional[@]} > 0)) || return 0
  if ! apt_release; then
    ((${#missing[@]} > 0)) || return 0
    die "this is $os_name; evener installs its packages by itself only on $supported." \
      'It works elsewhere if these are there (package of Debian: what is looked for):' "${wanted[@]/#/  }" \
      'Install them by the means of this system, or load them as environment modules, or name a prefix: EVENER_PREFIX=/path'
  fi
  tested_release || say "$os_name is not among the systems that evener is tested on ($supported); trying."
  if get_rights; then
    use_offline_packages
    if ((${#missing[@]} == 0)); then
      (install_packages "${optional[@]}") || say "goes on without ${optional[*]}"
      return 0
    fi
    install_packages "${missing[@]}" "${optional[@]}"
    find_missing "$@"
    ((${#missing[@]} == 0)) || die "apt installed what it has, but these are older than needed or still missing:" "${wanted[@]/#/  }"
  elif ((${#missing[@]} > 0)); then
    find_offered "${optional[@]}" # one name that apt doesn't know would make the whole line fail
    die 'these packages are missing, and installing them needs administrator rights (package: what is looked for):' "${wanted[@]/#/  }" \
      'Either ask an administrator to run' "  $(apt_line "${missing[@]}" "${offered[@]}")" \
      'or make them available yourself: load environment modules, or name a folder with bin/, include/, lib/: EVENER_PREFIX=/path' \
      'Then run the same command again.'
  else
    say "some optional packages are missing: ${optional[*]}; an administrator can add them: $(apt_line "${optional[@]}")"
  fi
}
