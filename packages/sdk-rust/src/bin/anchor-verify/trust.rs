//! The trust roots that everything is judged by: files that the reader has, and the pin of the first.

use std::path::Path;

use event_anchoring::{extend_trust_root, verify_trust_root, Hash, TrustRootChain};
use serde_json::{json, Value};

use crate::arguments::{Arguments, PinSource};
use crate::files::read_text;
use crate::output::{Exit, Fault, Finding, Mark};

const DOCUMENT_BYTES_MAX: u64 = 1024 * 1024;
const PIN_BYTES_MAX: u64 = 256;
const PIN_FILE: &str = "root-thk.txt";

/// Where the hash was found that the first document was checked against.
pub(crate) enum Pin {
    Given(PinSource),
    File(String),
}

/// Trust roots that go together. Without a pin nothing says that they are those of the cluster.
pub(crate) struct Held {
    pub(crate) chain: TrustRootChain,
    pin: Option<Pin>,
}

fn parse_pin(text: &str, path: &str) -> Result<Hash, Fault> {
    Hash::from_hex(text).map_err(|_| Fault::invalid("pin_malformed", format!("{path} does not hold 64 hex digits")))
}

/// The pin that was given or is beside the document.
fn pin_of(arguments: &Arguments, first: &str) -> Result<Option<(Hash, Pin)>, Fault> {
    if let Some((text, source)) = &arguments.pin {
        return Ok(Some((parse_pin(text, source.name())?, Pin::Given(*source))));
    }
    let path = Path::new(first).parent().unwrap_or(Path::new("")).join(PIN_FILE);
    if !path.exists() {
        return Ok(None);
    }
    let path = path.to_string_lossy().into_owned();
    let text = read_text(&path, PIN_BYTES_MAX)?;
    Ok(Some((parse_pin(text.trim_end(), &path)?, Pin::File(path))))
}

/// What a document says its RootTHK is: SHA-256 of the text before its signatures. It is consistent then, no more.
fn own_root_thk(document: &str) -> Hash {
    document.rsplit_once("\n\n").map_or(Hash::ZERO, |(text, _)| Hash::sha256(format!("{text}\n")))
}

pub(crate) fn load(arguments: &Arguments) -> Result<Held, Fault> {
    let paths = &arguments.trust_roots;
    let Some(first_path) = paths.first() else {
        return Err(Fault::usage("trust_root_missing", "no trust root: give --trust-root <file>"));
    };
    let read = |path: &String| read_text(path, DOCUMENT_BYTES_MAX);
    let documents = paths.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let (root_thk, pin) = match pin_of(arguments, first_path)? {
        Some((root_thk, pin)) => (root_thk, Some(pin)),
        None => (documents.first().map_or(Hash::ZERO, |first| own_root_thk(first)), None),
    };
    let refused = |path: &str, error: event_anchoring::Error| match error.code() {
        "ed25519_canary" => Fault::internal(&error),
        code => Fault::invalid(code, format!("the trust root {path} is not valid: {error} ({code})")),
    };
    let (first, later) = documents.split_at(1);
    let chain = verify_trust_root(first, &root_thk).map_err(|error| refused(first_path, error))?;
    let mut versions = later.iter().zip(paths.iter().skip(1));
    let chain = versions.try_fold(chain, |chain, (document, path)| {
        extend_trust_root(chain, document).map_err(|error| refused(path, error))
    })?;
    Ok(Held { chain, pin })
}

impl PinSource {
    fn name(self) -> &'static str {
        match self {
            Self::Flag => "--root-thk",
            Self::Environment => "ANCHORCTL_ROOT_THK",
        }
    }
}

impl Held {
    pub(crate) fn is_pinned(&self) -> bool {
        self.pin.is_some()
    }

    /// RootTHK of the first version: what is pinned, or has to be compared.
    fn first_root_thk(&self) -> &Hash {
        self.chain.versions().next().unwrap_or(self.chain.newest()).root_thk()
    }

    pub(crate) fn pin_line(&self) -> String {
        let source = match &self.pin {
            None => return Mark::Warn.line("pin", "none: whose trust root this is was not checked (--root-thk)"),
            Some(Pin::Given(source)) => source.name(),
            Some(Pin::File(path)) => path,
        };
        Mark::Pass.line("pin", &format!("RootTHK {}, from {source}", self.first_root_thk()))
    }

    pub(crate) fn pin_json(&self) -> Value {
        let (source, path) = match &self.pin {
            None => (None, None),
            Some(Pin::Given(PinSource::Flag)) => (Some("flag"), None),
            Some(Pin::Given(PinSource::Environment)) => (Some("environment"), None),
            Some(Pin::File(path)) => (Some("file"), Some(path)),
        };
        json!({ "source": source, "path": path, "root_thk": self.first_root_thk().to_hex() })
    }

    /// The newest version, by which everything is judged.
    pub(crate) fn newest_json(&self) -> Value {
        let newest = self.chain.newest();
        json!({ "version": newest.trust_root().version, "root_thk": newest.root_thk().to_hex() })
    }

    /// What to compare, and with what, before anything that was judged here is believed.
    pub(crate) fn advice(&self) -> String {
        let root = self.chain.versions().next().unwrap_or(self.chain.newest()).trust_root();
        format!(
            "compare the RootTHK of trust root {}, {}, with the one that the operators of {} have published or told \
             you, by another way than these files; then pass that one as --root-thk.",
            root.version,
            self.first_root_thk(),
            root.cluster_name
        )
    }
}

/// Trust roots alone: who may sign, version by version.
pub(crate) fn judge(arguments: &Arguments) -> Result<Finding, Fault> {
    let held = load(arguments)?;
    let (newest, is_pinned) = (held.chain.newest(), held.is_pinned());
    let mut lines = vec![held.pin_line()];
    for version in held.chain.versions() {
        let root = version.trust_root();
        let detail = format!("version {} of {}, root_thk {}", root.version, root.cluster_name, version.root_thk());
        lines.push(Mark::Pass.shown(is_pinned).line("trust root", &detail));
    }
    lines.push(if is_pinned {
        let (name, version) = (&newest.trust_root().cluster_name, newest.trust_root().version);
        format!("VALID: the trust root of {name}, up to version {version}, follows from the pinned one.")
    } else {
        format!("NOT PINNED: the trust roots go together, which proves nothing yet: {}", held.advice())
    });
    let failure = (!is_pinned).then_some("not_pinned");
    let json =
        json!({ "valid": is_pinned, "failure": failure, "pin": held.pin_json(), "trust_root": held.newest_json() });
    Ok(Finding { exit: if is_pinned { Exit::Ok } else { Exit::NotPinned }, lines, json })
}
