//! The command line: that of `anchorctl verify`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use event_anchoring::Hash;

use crate::output::Fault;

pub(crate) const HELP: &str = "\
Usage: anchor-verify [options] <file>
       anchor-verify [options] --bundle <file> [<file>]
       anchor-verify [options] --trust-root <file>…

Checks a file against its receipt, a bundle, or trust roots, offline, by a pinned RootTHK.

Options:
  --proof <file>       the receipt (default: <file>.tlog-proof)
  --bundle <file>      a bundle instead; with <file>, its subject must be the event of that file
  --anchor-id <id>     the anchor that the bundle must be about
  --scope <file>       a disclosure of what a grant in the bundle allows; may be repeated
  --trust-root <file>  signed trust root; repeat for later versions, oldest first
  --root-thk <hex>     pinned hash of the first trust root (default: root-thk.txt beside it, if there)
  --require-current    fail if only an older trust root is satisfied
  --witnessed          fail unless as many witnesses have signed as the trust root asks for
  --json               print one JSON object
  --version            print the version
  --help               print this

Exit codes:
   0  valid (warnings included)
   1  not valid: file, receipt and trust root do not match, or one is damaged
   2  wrong usage, or a file cannot be read
   5  a bundle is not wrong, but a part of it rests on the word of the service
   6  nothing is wrong, but no pinned RootTHK says whose trust root it was judged by
  70  a fault of this program

Environment:
  ANCHORCTL_TRUST_ROOTS  files of signed trust roots, oldest first, separated by commas
  ANCHORCTL_ROOT_THK     pinned hash of the first trust root

The RootTHK is the hash of the cluster's first trust root. Get it from people you trust, by another way than the files.
";

/// Where a pin was given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PinSource {
    Flag,
    Environment,
}

#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) file: Option<String>,
    pub(crate) proof: Option<String>,
    bundle: Option<String>,
    pub(crate) anchor_id: Option<Hash>,
    pub(crate) scopes: Vec<String>,
    /// Oldest first.
    pub(crate) trust_roots: Vec<String>,
    /// As it was written.
    pub(crate) pin: Option<(String, PinSource)>,
    pub(crate) is_current_required: bool,
    pub(crate) is_witnessed_required: bool,
}

pub(crate) enum Asked {
    Help,
    Version,
    Verdict(Box<Arguments>),
}

const BUNDLE_ENDING: &str = ".bundle.json";
const BUNDLE_FORMAT: &str = "\"event-anchoring/v4.2/bundle\"";
const HEAD_BYTES: u64 = 256;

/// Whether a file is called or begins as a bundle does, unless it was anchored itself.
fn looks_like_bundle(path: &str) -> bool {
    if Path::new(&format!("{path}.tlog-proof")).exists() {
        return false;
    }
    let mut head = Vec::new();
    let is_read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)).is_ok();
    let text = String::from_utf8_lossy(&head);
    path.ends_with(BUNDLE_ENDING) || is_read && text.trim_start().starts_with('{') && text.contains(BUNDLE_FORMAT)
}

impl Arguments {
    pub(crate) fn read(given: &[String]) -> Result<Asked, Fault> {
        let usage = |message: String| Fault::usage("usage", format!("{message}; see anchor-verify --help"));
        let mut read = Self::default();
        let mut rest = given.iter();
        let mut is_options_end = false;
        while let Some(word) = rest.next() {
            if is_options_end || word == "-" || !word.starts_with('-') {
                if read.file.replace(word.clone()).is_some() {
                    return Err(usage("too many arguments: one file at a time".to_owned()));
                }
                continue;
            }
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let is_flag = read.set_flag(option);
            match option {
                "--" => is_options_end = true,
                _ if is_flag && attached.is_none() => {}
                "--help" | "-h" if attached.is_none() => return Ok(Asked::Help),
                "--version" if attached.is_none() => return Ok(Asked::Version),
                _ => {
                    let value = attached.or_else(|| rest.next().cloned());
                    read.set_value(option, value).map_err(|fault| fault.unwrap_or_else(usage))?;
                }
            }
        }
        read.set_from_environment();
        Ok(Asked::Verdict(Box::new(read)))
    }

    fn set_flag(&mut self, option: &str) -> bool {
        match option {
            "--require-current" => self.is_current_required = true,
            "--witnessed" => self.is_witnessed_required = true,
            "--json" => {}
            _ => return false,
        }
        true
    }

    fn set_value(&mut self, option: &str, value: Option<String>) -> Result<(), Misuse> {
        let known = ["--proof", "--bundle", "--anchor-id", "--scope", "--trust-root", "--root-thk"];
        if !known.contains(&option) {
            return Err(Misuse::Line(format!("unknown option '{option}'")));
        }
        let value = value.ok_or_else(|| Misuse::Line(format!("option '{option}' needs a value")))?;
        match option {
            "--proof" => self.proof = Some(value),
            "--bundle" => self.bundle = Some(value),
            "--scope" => self.scopes.push(value),
            "--trust-root" => self.trust_roots.push(value),
            "--root-thk" => self.pin = Some((value, PinSource::Flag)),
            _ => {
                let id = Hash::from_hex(&value);
                let message = format!("--anchor-id has 64 hex digits, not: {value}");
                self.anchor_id = Some(id.map_err(|_| Misuse::Fault(Fault::usage("anchor_id_invalid", message)))?);
            }
        }
        Ok(())
    }

    /// A pin belongs to the documents that it was set with: that of the environment is not for those of the line.
    fn set_from_environment(&mut self) {
        if !self.trust_roots.is_empty() {
            return;
        }
        let said = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let paths = said("ANCHORCTL_TRUST_ROOTS").unwrap_or_default();
        self.trust_roots = paths.split(',').filter(|path| !path.is_empty()).map(str::to_owned).collect();
        if self.pin.is_none() {
            self.pin = said("ANCHORCTL_ROOT_THK").map(|pin| (pin, PinSource::Environment));
        }
    }

    /// The bundle that is to be judged, whether it was named as one or is one.
    pub(crate) fn bundle_path(&self) -> Option<&str> {
        self.bundle.as_deref().or_else(|| self.file.as_deref().filter(|file| self.is_bundle(file)))
    }

    fn is_bundle(&self, file: &str) -> bool {
        self.bundle.is_none() && self.proof.is_none() && looks_like_bundle(file)
    }

    /// The reader's own event, beside a bundle.
    pub(crate) fn event_file(&self) -> Option<&str> {
        self.bundle.as_ref().and(self.file.as_deref())
    }
}

/// What is wrong with an option.
enum Misuse {
    Line(String),
    Fault(Fault),
}

impl Misuse {
    fn unwrap_or_else(self, usage: impl FnOnce(String) -> Fault) -> Fault {
        match self {
            Self::Line(message) => usage(message),
            Self::Fault(fault) => fault,
        }
    }
}
