//! Checks receipts, bundles and trust roots offline, by a pinned RootTHK: with the verdicts, reasons and exit codes of
//! `anchorctl verify`, in a program that needs nothing else and asks nobody.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod arguments;
mod bundle;
#[path = "../../calendar.rs"]
mod calendar;
mod files;
mod output;
mod receipt;
mod scopes;
mod trust;

use std::process::ExitCode;

use arguments::{Arguments, Asked, HELP};
use output::{Fault, Finding};

fn judge(arguments: &Arguments) -> Result<Finding, Fault> {
    if let Some(path) = arguments.bundle_path() {
        return bundle::judge(arguments, path);
    }
    if !arguments.scopes.is_empty() {
        return Err(Fault::usage("scope_bundles_only", "--scope is for bundles: a receipt shows no grant of an act"));
    }
    match &arguments.file {
        Some(file) => receipt::judge(arguments, file),
        None if arguments.trust_roots.is_empty() => Err(Fault::usage("no_file", "give a file, or --bundle <file>")),
        None => trust::judge(arguments),
    }
}

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args_os().skip(1).map(|each| each.to_string_lossy().into_owned()).collect();
    let is_json = given.iter().any(|each| each == "--json");
    let found = match Arguments::read(&given) {
        Ok(Asked::Help) => {
            output::print(HELP);
            return ExitCode::SUCCESS;
        }
        Ok(Asked::Version) => {
            output::print(concat!("anchor-verify ", env!("CARGO_PKG_VERSION"), "\n"));
            return ExitCode::SUCCESS;
        }
        Ok(Asked::Verdict(arguments)) => judge(&arguments),
        Err(fault) => Err(fault),
    };
    match found {
        Ok(finding) => finding.show(is_json),
        Err(fault) => fault.show(is_json),
    }
}
