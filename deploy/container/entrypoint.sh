#!/bin/sh
# Starts one process of a node, or a tool:
#   control-plane | api               the two processes; settings in /config
#   control-plane | api --check       what is wrong with the settings and files; also --version, --help
#   anchorctl …                       the operator's tool
#   health <control-plane|api>        for the container's health check
#   certs <command> …                 the commands of certs/
#   --version | --help
set -u

# A process that ends with one of these must not be started again: 2 its settings are wrong, 78 fenced, 79 halted. The
# container stays, unhealthy and with the reason as its last words, until somebody has looked.
ends_for_good() {
  case $1 in 2 | 78 | 79) return 0 ;; *) return 1 ;; esac
}

# Room for short-lived objects (MiB) and for old ones: packages/dev-cluster/src/node-flags.ts has what was measured.
memory_flags() {
  case $1 in
    api) echo --max-semi-space-size=64 --heap-growing-percent=40 ;;
    control-plane) echo --max-semi-space-size=24 --heap-growing-percent=40 ;;
  esac
}

run_node_process() {
  # Asked something, it ends by itself.
  if [ $# -gt 1 ]; then
    name=$1
    shift
    exec node "/app/packages/$name/dist/main.js" --config "/config/$name.json" "$@"
  fi
  export MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=262144
  # Two words, which no quotes must join.
  # shellcheck disable=SC2046
  node $(memory_flags "$1") "/app/packages/$1/dist/main.js" --config "/config/$1.json" &
  child=$!
  trap 'kill -TERM "$child" 2>/dev/null' TERM INT
  trap 'kill -HUP "$child" 2>/dev/null' HUP
  code=0
  wait "$child" || code=$?
  # A signal ends wait, not the child.
  while kill -0 "$child" 2>/dev/null; do
    code=0
    wait "$child" || code=$?
  done
  if ends_for_good "$code"; then
    echo "$1 ended with $code and is not started again: see above, and docs/operating/first-day.md" >&2
    trap 'exit 0' TERM INT
    while :; do
      sleep 3600 &
      wait $!
    done
  fi
  exit "$code"
}

USAGE="usage: control-plane | api | anchorctl … | health <process> | certs <command> … | --version | --help"

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
  control-plane | api) run_node_process "$command" "$@" ;;
  anchorctl) exec node /app/packages/cli/bin/anchorctl.js "$@" ;;
  health) exec node /app/deploy/container/health.js "$@" ;;
  certs)
    name=${1:-}
    [ $# -eq 0 ] || shift
    exec node "/app/certs/$name.js" "$@"
    ;;
  --version) exec node --print '`event-anchoring ${require("/app/package.json").version}`' ;;
  --help) echo "$USAGE" ;;
  *)
    echo "$USAGE" >&2
    exit 64
    ;;
esac
