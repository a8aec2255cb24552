#!/usr/bin/env bash
# What must hold of the TypeScript SDK beside the tests of the repository: the npm package, installed into an empty
# project, on this Node and on Node 18; and that every way to resolve it, and the other libraries that npm installs,
# finds their types.
# Needs the dependencies of the repository. Asks nothing, and says what it leaves out, also in the file $CI_SKIPS.
set -euo pipefail
cd "$(dirname "$0")"
exec </dev/null

left_out() {
  echo "sdk-typescript: $1"
  if [[ -n ${CI_SKIPS:-} ]]; then echo "sdk-typescript: $1" >>"$CI_SKIPS"; fi
}

if [[ ! -x ../../node_modules/.bin/tsc ]]; then
  left_out 'left out, it takes npm ci'
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
../../node_modules/.bin/tsc -b . ../release ../adapters ../raft-ts
libraries=(npm-sdk npm-adapters npm-raft)
node ../release/bin/release.js --dry "${libraries[@]/#/--only=}" --out "$work/packages"
tarball=$(echo "$work"/packages/event-anchoring-sdk-*.tgz)

# As a user installs it. It has no dependencies, so no registry is asked.
mkdir "$work/project"
(
  cd "$work/project"
  echo '{"name":"project","private":true,"type":"module"}' >package.json
  npm install --offline --ignore-scripts --no-audit --no-fund --silent "$tarball"
  test "$(ls node_modules/@event-anchoring)" = sdk
)
# The tools that the repository does not need otherwise, a Node 18 and attw. Asked for one by one, so that a registry
# which lacks one gives the other.
tools=$work/tools
mkdir "$tools"
echo '{"name":"tools","private":true}' >"$tools/package.json"
fetch() {
  npm install --prefix "$tools" --no-audit --no-fund --silent "$@" >/dev/null 2>&1
}

smoke() {
  local answer=$work/answer.json
  node -e '
    const openapi = require("../../docs/openapi.json");
    const { examples } = openapi.paths["/v1/event-anchors"].post.responses["201"].content["application/json"];
    process.stdout.write(JSON.stringify(Object.values(examples)[0].value));
  ' >"$answer"
  local vectors=../../test/vectors
  for way in import require; do
    "$1" ../release/test/programs/sdk-smoke.js "$work/project" "$way" \
      "$vectors/receipt.json" "$vectors/prepare.json" "$answer"
  done
}
smoke node

node18=${EVENT_ANCHORING_NODE18:-}
if [[ -z $node18 ]] && fetch node@18; then
  node18=$tools/node_modules/node/bin/node
fi
if [[ -n $node18 && $("$node18" --version) == v18.* ]]; then
  smoke "$node18"
else
  left_out 'not tried on Node 18, which is not here: EVENT_ANCHORING_NODE18=<node>'
fi

# All that npm installs as a library. The resolution of Node 10 knows no `exports`: it finds the CommonJS build and its
# types. raft-ts has ES modules alone; everything but that is judged of it, too.
if fetch @arethetypeswrong/cli@0.18.5; then
  packages=("$work"/packages/*.tgz)
  test "${#packages[@]}" = "${#libraries[@]}"
  for package in "${packages[@]}"; do
    rules=()
    if [[ $package == */raft-ts-* ]]; then rules=(--ignore-rules cjs-resolves-to-esm); fi
    "$tools/node_modules/.bin/attw" "$package" --format ascii "${rules[@]}"
  done
else
  left_out 'attw is not asked about the types, it cannot be installed (no registry?)'
fi
echo 'sdk-typescript: passed'
