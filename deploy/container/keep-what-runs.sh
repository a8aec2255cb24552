#!/bin/sh
# Copies of each package what is needed to run it: manifest, built code, commands, migrations, the consensus engine. And
# all manifests to <target>/manifests: npm ci holds every one against the lockfile.
# Usage: keep-what-runs.sh <checkout> <target>
set -eu
checkout=$1
target=$2

for package in "$checkout"/packages/*; do
  [ -f "$package/package.json" ] || continue
  mkdir -p "$target/manifests/$(basename "$package")"
  cp "$package/package.json" "$target/manifests/$(basename "$package")/"
  [ -d "$package/dist" ] || continue
  kept="$target/packages/$(basename "$package")"
  mkdir -p "$kept"
  cp "$package/package.json" "$kept/"
  for part in dist bin migrations; do
    [ ! -d "$package/$part" ] || cp -R "$package/$part" "$kept/"
  done
done
# It writes docs/openapi.json, which is committed; no process loads it.
rm -r "$target/packages/api-contract/dist/openapi"
engine="$target/packages/raft-ts/engine"
mkdir -p "$engine"
cp "$checkout/packages/raft-ts/engine/raft.wasm" "$checkout/packages/raft-ts/engine/NOTICE" "$engine/"
cp -R "$checkout/packages/raft-ts/engine/licenses" "$engine/"
find "$target" \( -name '*.map' -o -name '*.d.ts' -o -name '*.tsbuildinfo' \) -delete
