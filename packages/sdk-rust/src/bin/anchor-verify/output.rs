//! What is printed, and the exit codes.

use std::io::Write as _;
use std::process::ExitCode;

use event_anchoring::{Outcome, Step};
use serde_json::{json, Value};

use crate::calendar::to_rfc3339;

/// The exit codes of `anchorctl verify`. They change only with a new major version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Ok = 0,
    /// File, receipt and trust root do not match, or one is damaged.
    Invalid = 1,
    /// Wrong usage, or a file cannot be read.
    Usage = 2,
    /// Nothing is wrong, and a part rests on somebody's word.
    AsStated = 5,
    /// Nothing is wrong, and no pin says whose trust root it is.
    NotPinned = 6,
    /// A fault of this program.
    Internal = 70,
}

/// What was judged, for people and for programs.
pub(crate) struct Finding {
    pub(crate) exit: Exit,
    pub(crate) lines: Vec<String>,
    pub(crate) json: Value,
}

/// Why nothing could be judged, or what was given is none of what it should be.
#[derive(Debug)]
pub(crate) struct Fault {
    exit: Exit,
    code: String,
    message: String,
}

/// A closed pipe is nobody's fault: the exit code is the answer.
pub(crate) fn print(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).unwrap_or_default();
}

impl Finding {
    pub(crate) fn show(self, is_json: bool) -> ExitCode {
        if is_json {
            print(&format!("{:#}\n", self.json));
        } else {
            print(&format!("{}\n", self.lines.join("\n")));
        }
        ExitCode::from(self.exit as u8)
    }
}

impl Fault {
    fn new(exit: Exit, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { exit, code: code.into(), message: message.into() }
    }

    pub(crate) fn usage(code: &str, message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, code, message)
    }

    pub(crate) fn invalid(code: &str, message: impl Into<String>) -> Self {
        Self::new(Exit::Invalid, code, message)
    }

    /// The library does not trust its own arithmetic here.
    pub(crate) fn internal(error: &event_anchoring::Error) -> Self {
        Self::new(Exit::Internal, error.code(), error.to_string())
    }

    pub(crate) fn show(self, is_json: bool) -> ExitCode {
        let Self { exit, code, message } = self;
        if is_json {
            let mut json = json!({ "failure": code, "detail": message });
            if let (Exit::Invalid, Some(members)) = (exit, json.as_object_mut()) {
                members.insert("valid".to_owned(), false.into());
            }
            print(&format!("{json:#}\n"));
        } else {
            let prefix = if exit == Exit::Invalid { "NOT VALID: " } else { "anchor-verify: " };
            eprintln!("{prefix}{message}");
        }
        ExitCode::from(exit as u8)
    }
}

/// How one line of a verdict is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Pass,
    Fail,
    Skip,
    Warn,
}

impl Mark {
    /// Without a pin nothing is shown as good: all hangs on it.
    pub(crate) fn shown(self, is_pinned: bool) -> Self {
        if self == Self::Pass && !is_pinned {
            Self::Skip
        } else {
            self
        }
    }

    pub(crate) fn line(self, label: &str, detail: &str) -> String {
        let sign = match self {
            Self::Pass => '✓',
            Self::Fail => '✗',
            Self::Skip => '-',
            Self::Warn => '!',
        };
        format!("  {sign} {label:<14} {detail}")
    }
}

pub(crate) fn steps_json(steps: &[Step]) -> Value {
    let shown = |step: &Step| json!({ "code": step.code, "result": step.result.as_str(), "detail": step.detail });
    steps.iter().map(shown).collect()
}

/// The first step that has failed.
pub(crate) fn failed(steps: &[Step]) -> Option<&Step> {
    steps.iter().find(|step| step.result == Outcome::Fail)
}

/// The last millisecond for which anchorctl writes a date. A leaf or a cosignature may legally name a later one.
const DATE_MS_MAX: u64 = 8_640_000_000_000_000;
const YEAR_10000_MS: u64 = 253_402_300_800_000;

/// Unix milliseconds as ISO 8601; after the year 9999 with a sign and six digits.
pub(crate) fn iso_ms(time_ms: u64) -> String {
    match time_ms {
        0..YEAR_10000_MS => to_rfc3339(time_ms),
        YEAR_10000_MS..=DATE_MS_MAX => {
            let text = to_rfc3339(time_ms);
            let (year, rest) = text.split_once('-').unwrap_or_default();
            format!("+{year:0>6}-{rest}")
        }
        _ => format!("{time_ms} ms (Unix)"),
    }
}

/// Unix seconds.
pub(crate) fn iso_s(seconds: u64) -> String {
    match seconds.checked_mul(1_000).filter(|ms| *ms <= DATE_MS_MAX) {
        Some(ms) => iso_ms(ms).replace(".000Z", "Z"),
        None => format!("{seconds} s (Unix)"),
    }
}
