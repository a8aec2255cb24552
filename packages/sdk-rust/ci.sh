#!/usr/bin/env bash
# Everything that must hold of the Rust SDK: format, lint, tests, documentation, the package; the oldest promised
# toolchain where rustup has it. The tests against a cluster are built here, and run by the repository's npm test.
# Builds into target/ (or CARGO_TARGET_DIR); asks nothing, and says what it leaves out, also in the file $CI_SKIPS.
set -euo pipefail
cd "$(dirname "$0")"
exec </dev/null

left_out() {
  echo "sdk-rust: $1"
  if [[ -n ${CI_SKIPS:-} ]]; then echo "sdk-rust: $1" >>"$CI_SKIPS"; fi
}

if ! command -v cargo >/dev/null; then
  left_out 'left out, cargo is not installed'
  exit 0
fi
if ! cargo fetch --locked --quiet; then
  left_out 'left out, its dependencies cannot be fetched (no registry?)'
  exit 0
fi

export CARGO_NET_OFFLINE=true
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
# Nobody debugs these builds.
export CARGO_PROFILE_DEV_DEBUG=0

cargo fmt --check
cargo clippy --locked --all-targets --quiet -- -D warnings
# What needs no network needs no HTTP client either.
cargo clippy --locked --all-targets --no-default-features --quiet -- -D warnings
# A client alone needs no files.
cargo clippy --locked --all-targets --no-default-features --features client --quiet -- -D warnings
cargo test --locked --quiet
RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --quiet
cargo package --locked --allow-dirty --quiet
# All but sending it. This asks the registry's index whether the version is new.
if ! CARGO_NET_OFFLINE=false cargo publish --dry-run --locked --allow-dirty --no-verify --quiet; then
  left_out 'cargo publish is not tried (no registry?)'
fi

# As a user has it: an empty project that depends on what the package holds, and nothing else of this repository.
package=$(cargo pkgid --offline | sed 's/.*[#@]//')
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
mkdir "$project/src"
cat >"$project/Cargo.toml" <<END
[package]
name = "project"
version = "0.1.0"
edition = "2021"
[dependencies]
event-anchoring = { path = "$CARGO_TARGET_DIR/package/event-anchoring-$package" }
END
cat >"$project/src/main.rs" <<'END'
use event_anchoring::{check_canaries, prepare_event_anchor, Client, Event, Hash, LocalKey, Signer as _};

fn main() -> event_anchoring::Result<()> {
    check_canaries()?;
    let (client, actor) = (Client::new("https://anchor.example", "key")?, LocalKey::generate()?);
    let event = Event::new(Hash::sha256("what happened"))?;
    let prepared = prepare_event_anchor(&Hash::ZERO, &event, &actor.public_key())?;
    prepared.with_signature(actor.sign_bytes(prepared.actor_payload().bytes()))?;
    println!("installed: {client:?}");
    Ok(())
}
END
cp Cargo.lock "$project/Cargo.lock"
cargo run --quiet --manifest-path "$project/Cargo.toml"

oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if command -v rustup >/dev/null && rustup run "$oldest.0" rustc --version >/dev/null 2>&1; then
  CARGO_TARGET_DIR="$CARGO_TARGET_DIR/$oldest" rustup run "$oldest.0" cargo check --locked --all-targets --quiet
else
  left_out "not checked on Rust $oldest, which is not installed"
fi

if [[ ! -d ${EVENT_ANCHORING_PUBLIC_VECTORS:-} ]]; then
  left_out 'the public Ed25519 collections, whose folder EVENT_ANCHORING_PUBLIC_VECTORS does not name'
fi
echo 'sdk-rust: all of it holds'
