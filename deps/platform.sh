# Which system this is, and what evener supports.
# shellcheck shell=bash

readonly supported='Debian 12 and 13, Ubuntu 22.04 and Ubuntu 24.04, also inside WSL2, on x86_64'

os_id='' os_version='' os_name=''

read_platform() {
  local file=${EVENER_OS_RELEASE:-/etc/os-release}
  os_name=$(uname -s)
  [[ -r $file ]] || return 0
  # In a subshell: the file sets many names.
  # shellcheck disable=SC1090
  IFS='|' read -r os_id os_version os_name < <(. "$file" && echo "${ID-}|${VERSION_ID-}|${PRETTY_NAME-${ID-}}")
}

check_platform() {
  [[ $(uname -s) == Linux ]] ||
    die "this is $(uname -s); evener runs on $supported." 'On Windows, use it inside WSL2; elsewhere, in a container or virtual machine of one of these.'
  [[ $(uname -m) == x86_64 ]] ||
    die "this processor is $(uname -m); evener is set up for x86_64 only so far." 'The pinned libraries come as x86_64 wheels.'
  read_platform
}

# Can its packages be installed here by name? Newer releases are tried as well.
apt_release() {
  command -v apt-get >/dev/null || return 1
  case $os_id in
    debian) ((${os_version%%.*} >= 12)) ;;
    ubuntu) ((${os_version%%.*} >= 22)) ;;
    *) return 1 ;;
  esac
} 2>/dev/null

tested_release() {
  case $os_id-$os_version in debian-12 | debian-13 | ubuntu-22.04 | ubuntu-24.04) ;; *) return 1 ;; esac
}

gpu_present() {
  [[ -e /proc/driver/nvidia/version || -e /dev/nvidiactl || -e /usr/lib/wsl/lib/libcuda.so.1 ]]
}

# The same rule as in the launcher, which can't afford to read this file.
gpu_wanted() {
  case ${EVENER_WITH_CUDA-} in 1) return 0 ;; 0) return 1 ;; esac
  gpu_present
}
