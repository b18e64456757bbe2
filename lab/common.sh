# shellcheck shell=bash disable=SC2034
# What the lab's scripts share.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
tree=$(dirname "$here")
lab=$(realpath -m -- "${TENURE_LAB:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/tenure/device-lab}")

# Where Wine keeps its registry and its Windows, in the lab.
wine_prefix=/.wineprefix

# Everything a run starts or mounts lives in namespaces of its own: when their first process ends, however it ends,
# the kernel ends all others and drops every mount. That process ends with the one that started it. The network is
# the run's own too, so that displays never collide.
tied=(setpriv --pdeathsig KILL)
namespaces=("${tied[@]}" unshare --mount --ipc --net --pid --fork --kill-child)

# 125, as of `timeout` and container runtimes: the lab's trouble, not the program's.
stop() {
  echo "lab: $*" >&2
  exit 125
}

needs_root() {
  [ "$EUID" = 0 ] || stop "needs root, to make namespaces and mounts of its own"
}
