# Messages and progress of the set-up. All of it goes to stderr: stdout belongs to the program.
# shellcheck shell=bash

say() { printf 'evener: %s\n' "$*" >&2; }

# die MESSAGE [LINE...]: what happened, then, indented, what to do about it.
die() {
  clear_progress
  printf 'evener: %s\n' "$1" >&2
  shift
  (($# == 0)) || printf '  %s\n' "$@" >&2
  exit 1
}

megabytes() { awk -v b="$1" 'BEGIN { if (b >= 1e9) printf "%.1f GB", b / 1e9; else printf "%.0f MB", b / 1e6 }'; }

free_bytes() { df -PB1 -- "$1" | awk 'NR == 2 { print $4 }'; }

clear_progress() { [[ ! -t 2 ]] || printf '\r\e[K' >&2; }

# On a terminal one line that is redrawn, elsewhere a line of its own every ten per cent.
progress_shown=-10
draw_progress() { # LABEL PERCENT TEXT
  local label=$1 percent=$2 text=$3 bar width
  if [[ -t 2 ]]; then
    printf -v bar '%*s' $((percent / 5)) ''
    width=$((${COLUMNS:-80} - 40 - ${#label}))
    ((width > 0)) || width=1
    printf '\r\e[Kevener: %s [%-20s] %3d %% %s' "$label" "${bar// /#}" "$percent" "${text:0:width}" >&2
  elif ((percent >= progress_shown + 10)); then
    progress_shown=$((percent - percent % 10))
    printf 'evener: %s %d %% %s\n' "$label" "$percent" "$text" >&2
  fi
}

# Keeps what it reads in LOG and shows only how far the command is. Understands ninja's "[12/80] text" and apt's
# "dlstatus:1:12.5:text" and "pmstatus:package:40:text".
follow() { # LABEL LOG
  local label=$1 log=$2 line percent phase=''
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    if [[ $line == *'Re-checking globbed'* ]]; then
      continue
    elif [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]]; then
      percent=$((100 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      draw_progress "$label" "$percent" "${BASH_REMATCH[1]}/${BASH_REMATCH[2]} ${BASH_REMATCH[3]##*/}"
    elif [[ $line =~ ^(dl|pm)status:[^:]*:([0-9]+)[0-9.]*:(.*) ]]; then
      [[ $phase == "${BASH_REMATCH[1]}" ]] || progress_shown=-10
      phase=${BASH_REMATCH[1]}
      draw_progress "$label ($([[ $phase == dl ]] && echo fetch || echo install))" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}"
    fi
  done
  progress_shown=-10
  clear_progress
}

# The part of a log that tells why: from the first error on, else its last lines.
show_log() { # LOG
  printf -- '---- %s\n' "$1" >&2
  if grep -qE '^FAILED:|^CMake Error|^E: ' "$1"; then
    awk '/^FAILED:|^CMake Error|^E: / { on = 1 } on && !/^(dl|pm)status:/ { print } ' "$1" | head -n 40 >&2
  else
    tail -n 25 "$1" >&2
  fi
  printf -- '----\n' >&2
}

# Steps with their seconds and bytes, for people who measure the set-up (tools/fresh-machine does).
note_step() { # NAME SECONDS FETCHED_BYTES ON_DISK_BYTES
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" >>"$deps_dir/log/steps.tsv"
}
