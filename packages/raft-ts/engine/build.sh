#!/bin/sh
# Builds raft.wasm, the only build of it there is. The result depends on the Go version below, go.mod and the sources
# alone.
#
#   build.sh            rebuild raft.wasm and raft.wasm.sha256
#   build.sh --check    rebuild elsewhere and compare with the committed file; changes nothing
set -eu
cd "$(dirname "$0")"

go_version=go1.26.8
export GOTOOLCHAIN="$go_version" GOOS=wasip1 GOARCH=wasm GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0
export GOWASM= GOEXPERIMENT= GODEBUG=

build() {
  go build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o "$1" .
}

case "${1:-}" in
  '')
    build raft.wasm
    sha256sum raft.wasm >raft.wasm.sha256
    cat raft.wasm.sha256
    ;;
  --check)
    built=$(mktemp -d)
    trap 'rm -rf "$built"' EXIT
    build "$built/raft.wasm"
    sha256sum -c raft.wasm.sha256
    (cd "$built" && sha256sum -c -) <raft.wasm.sha256
    ;;
  *)
    echo "usage: $0 [--check]" >&2
    exit 64
    ;;
esac
