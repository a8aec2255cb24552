//! Compiles what the README shows under "Offline", as it is written there, and runs it: on good files, and on bad ones,
//! where it must fail. A packaged crate has no vectors beside it: there this test says so and passes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use event_anchoring::Hash;
use serde_json::Value;

/// What the shared vectors have anchored: their events are the hashes of these texts.
const LOG: &str = "event 5";
const ACT: &str = "act";

fn vectors(name: &str) -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/vectors").join(format!("{name}.json"));
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: no {} beside this crate", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

/// The blocks of the README's section, without what marks lines that rustdoc hides.
fn blocks() -> Vec<String> {
    let readme = include_str!("../README.md");
    let offline = readme.split("\n## Offline\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks = offline.split("```rust,no_run\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks
        .map(|block| block.lines().map(|line| format!("{}\n", line.strip_prefix("# ").unwrap_or(line))).collect())
        .collect()
}

/// A program of a user: the blocks, and a choice between them.
fn build() -> PathBuf {
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    fs::create_dir_all(project.join("src")).unwrap();
    let modules: Vec<String> = blocks()
        .iter()
        .enumerate()
        .map(|(place, block)| format!("mod block{place} {{\n{}}}\n", block.replace("\nfn ", "\npub fn ")))
        .collect();
    assert_eq!(modules.len(), 2);
    let main = "fn main() -> Result<(), Box<dyn std::error::Error>> {\n    \
        if std::env::args().nth(1).as_deref() == Some(\"receipt\") { block0::receipt() } else { block1::bundle() }\n}\n";
    fs::write(project.join("src/main.rs"), modules.concat() + main).unwrap();
    let crate_path = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "[package]\nname = \"readme\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n\
         event-anchoring = {{ path = {crate_path:?}, default-features = false }}\n\
         [profile.dev.package.curve25519-dalek]\nopt-level = 3\n[profile.dev.package.sha2]\nopt-level = 3\n"
    );
    fs::write(project.join("Cargo.toml"), manifest).unwrap();
    fs::copy(Path::new(crate_path).join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    // Where this test was built: what was compiled for it is taken from there.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet"])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("debug/readme")
}

struct Reader {
    program: PathBuf,
    folder: PathBuf,
}

impl Reader {
    fn write(&self, name: &str, content: &str) {
        fs::write(self.folder.join(name), content).unwrap();
    }

    fn run(&self, what: &str, pin: Option<&str>) -> Output {
        let mut command = Command::new(&self.program);
        command.arg(what).current_dir(&self.folder).env_remove("ANCHORING_ROOT_THK");
        if let Some(pin) = pin {
            command.env("ANCHORING_ROOT_THK", pin);
        }
        command.output().unwrap()
    }

    /// The program ends with an error that has this code, and has not said yes.
    fn refuses(&self, what: &str, pin: Option<&str>, code: &str) {
        let Output { status, stdout, stderr } = self.run(what, pin);
        let said = String::from_utf8_lossy(&stderr);
        assert!(!status.success() && stdout.is_empty(), "{what} was taken, where {code} was expected");
        assert!(said.contains(code), "{code}: {said}");
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn find(cases: &Value, wanted: impl Fn(&Value) -> bool) -> &Value {
    cases.as_array().unwrap().iter().find(|case| wanted(case)).unwrap()
}

fn check_receipts(reader: &Reader, receipts: &Value, bundles: &Value) {
    let pin = Some(text(&receipts["pinned_root_thk"]));
    let own_hash = Hash::sha256(LOG).to_hex();
    let own = find(&receipts["good"], |case| case["expect"]["event_hash"] == own_hash.as_str());
    let good = [
        ("log.txt", LOG.to_owned()),
        ("log.txt.tlog-proof", own["receipt"].to_string()),
        ("trust-root.txt", text(&receipts["trust_roots"][0]).to_owned()),
    ];
    let restore = || good.iter().for_each(|(name, content)| reader.write(name, content));
    restore();
    assert_eq!(String::from_utf8_lossy(&reader.run("receipt", pin).stdout), "log.txt is event 15\n");
    // The same event, with a proof that fails.
    let forged = |code: &str| {
        let is_own = |case: &Value| case["receipt"]["leaf"] == own["receipt"]["leaf"];
        find(&receipts["bad"], |case| case["failure"]["code"] == code && is_own(case))["receipt"].to_string()
    };
    for (file, content, code) in [
        ("log.txt", "event 6".to_owned(), "content_differs"),
        ("log.txt.tlog-proof", forged("inclusion_wrong"), "inclusion_wrong"),
        ("log.txt.tlog-proof", forged("signature_invalid"), "signature_invalid"),
        ("log.txt.tlog-proof", forged("quorum_not_met"), "quorum_not_met"),
        ("trust-root.txt", text(&bundles["bundles"]["whole"]["trust_roots"][0]).to_owned(), "pin_mismatch"),
    ] {
        reader.write(file, &content);
        reader.refuses("receipt", pin, code);
        restore();
    }
}

fn check_bundles(reader: &Reader, bundles: &Value) {
    let pin = Some(text(&bundles["good"][0]["pinned_root_thk"]));
    let whole = bundles["bundles"]["whole"].to_string();
    let restore = || {
        reader.write("act.txt", ACT);
        reader.write("act.bundle.json", &whole);
    };
    restore();
    assert_eq!(String::from_utf8_lossy(&reader.run("bundle", pin).stdout), "authorised when it happened: Yes\n");
    let forged = find(&bundles["bad"], |case| case["bundle"].is_object())["bundle"].to_string();
    for (file, content, code) in [
        ("act.txt", "another act".to_owned(), "bundle_invalid"),
        ("act.bundle.json", bundles["bundles"]["singles"].to_string(), "bundle_not_proved"),
        ("act.bundle.json", forged, "bundle_invalid"),
    ] {
        reader.write(file, &content);
        reader.refuses("bundle", pin, code);
        restore();
    }
}

#[test]
fn the_lines_of_the_readme_refuse_what_is_not_good() {
    let (Some(receipts), Some(bundles)) = (vectors("receipt"), vectors("bundle")) else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme-files");
    fs::create_dir_all(&folder).unwrap();
    let reader = Reader { program: build(), folder };
    check_receipts(&reader, &receipts, &bundles);
    check_bundles(&reader, &bundles);
    for what in ["receipt", "bundle"] {
        reader.refuses(what, None, "NotPresent");
        reader.refuses(what, Some(""), "invalid_input");
    }
    reader.refuses("receipt", Some(&"00".repeat(32)), "pin_mismatch");
    reader.refuses("bundle", Some(&"00".repeat(32)), "pin_mismatch");
}
