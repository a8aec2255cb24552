#!/usr/bin/env bash
# Everything that must hold of the Python SDK: format, lint, types, tests on a current Python and on 3.9, packages,
# documentation (dist/docs).
# Makes .venv (and .venv39 where a Python 3.9 is found) beside it; asks nothing, and says what it leaves out, also in
# the file $CI_SKIPS.
set -euo pipefail
cd "$(dirname "$0")"
exec </dev/null
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

left_out() {
  echo "sdk-python: $1"
  if [[ -n ${CI_SKIPS:-} ]]; then echo "sdk-python: $1" >>"$CI_SKIPS"; fi
}

# The tests, and which of them were skipped.
run_tests() {
  local said
  said=$(mktemp)
  "$1" -m pytest -q -rs | tee "$said"
  if [[ -n ${CI_SKIPS:-} ]]; then sed -n 's/^SKIPPED \[[0-9]*\] /sdk-python: /p' "$said" >>"$CI_SKIPS"; fi
  rm "$said"
}

find_python() {
  local minimum=$1 below=$2 candidate
  shift 2
  for candidate in "$@"; do
    if command -v "$candidate" >/dev/null && "$candidate" -c \
      "import sys, venv; sys.exit(not $minimum <= sys.version_info[:2] < $below)" 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
}

# A virtual environment with this package and what its tests and tools need; made anew when pyproject.toml changes.
environment() {
  local python=$1 folder=$2 stamp
  stamp=$(sha256sum pyproject.toml | cut -d ' ' -f 1)
  if [[ -f $folder/stamp && $(cat "$folder/stamp") == "$stamp" ]]; then return 0; fi
  rm -rf "$folder"
  "$python" -m venv "$folder"
  "$folder/bin/python" -m pip install --editable '.[dev]' || return 1
  printf '%s\n' "$stamp" >"$folder/stamp"
}

pyenv_versions=("${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python)
current=$(find_python '(3, 10)' '(4, 0)' python3.13 python3.12 python3.11 python3.10 python3 "${pyenv_versions[@]}")
if [[ -z $current ]]; then
  left_out 'left out, there is no Python 3.10 or later for its tools'
  exit 0
fi
if ! environment "$current" .venv; then
  rm -rf .venv
  left_out 'left out, its dependencies cannot be installed (no package index?)'
  exit 0
fi

python=.venv/bin/python
"$python" -m ruff format --check .
"$python" -m ruff check .
"$python" scripts/make_sync.py --check
"$python" -m mypy
"$python" -m pyright --warnings --pythonpath "$python"
run_tests "$python"

oldest=$(find_python '(3, 9)' '(3, 10)' python3.9 "${pyenv_versions[@]}")
if [[ -z $oldest ]]; then
  left_out 'not on Python 3.9, which is not here; its syntax was checked'
elif environment "$oldest" .venv39; then
  run_tests .venv39/bin/python
else
  rm -rf .venv39
  left_out 'not on Python 3.9, for which the dependencies cannot be installed'
fi

rm -rf dist
"$python" -m build --outdir dist .
"$python" scripts/check_packages.py dist
"$python" -m twine check --strict dist/*
verify_command=$(sed -n '/^python -m event_anchoring verify log.txt /p' README.md)
# Installed into an empty project, from the wheel and from what is built of the sdist. There the command is run as it is
# shown in README.
for package in dist/*.whl dist/*.tar.gz; do
  project=$(mktemp -d)
  "$python" -m venv "$project/.venv"
  "$project/.venv/bin/python" -m pip install "$package"
  (cd "$project" && .venv/bin/python -I -W error -c "
import event_anchoring
from event_anchoring import Client, LocalKey, prepare_event_anchor
event_anchoring.check_canaries()
with LocalKey.generate() as actor, Client('http://127.0.0.1:9', origin_fingerprint='07' * 32) as client:
    prepared = client.prepare_event_anchor('ab' * 32, actor_public_key=actor.public_key)
    assert prepared.request(actor.sign(prepared.actor_payload.payload))['actor_public_key'] == actor.public_key.hex()
print('installed', event_anchoring.__version__)")
  "$python" - "$project" <<'END'
import json, pathlib, sys
from event_anchoring import Receipt
vectors = json.loads(pathlib.Path("../../test/vectors/receipt.json").read_text(encoding="utf-8"))
texts = {
    "log.txt": "event 5",
    "log.txt.tlog-proof": Receipt.parse(vectors["good"][0]["receipt"]).to_proof_text(),
    "trust-root.txt": vectors["trust_roots"][0],
    "pin": vectors["pinned_root_thk"],
}
for name, text in texts.items():
    pathlib.Path(sys.argv[1], name).write_text(text, encoding="utf-8")
END
  (cd "$project" && ANCHORING_ROOT_THK=$(cat pin) PATH="$project/.venv/bin:$PATH" bash -c "$verify_command")
  rm -rf "$project"
done
"$python" -W error -m pdoc --docformat google --output-directory dist/docs \
  event_anchoring event_anchoring.asynchronous event_anchoring.synchronous event_anchoring.tiles \
  event_anchoring.adapters event_anchoring.adapters.langchain event_anchoring.adapters.openai_agents
echo 'sdk-python: passed'
