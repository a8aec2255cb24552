//! When cosignatures are enough: k good lines of distinct keys. Also as C2SP tlog-policy, which other tools read.

use std::collections::HashSet;

use crate::bytes::parse_decimal;
use crate::error::{Error, Result};
use crate::hash::PublicKey;
use crate::note::{parse_note, verify_known_lines, VerifiedLine, Vkey, VkeyType};

/// A C2SP tlog-policy: who must have signed a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlogPolicy {
    pub(crate) logs: Vec<Vkey>,
    pub(crate) witnesses: Vec<(String, Vkey)>,
    pub(crate) groups: Vec<PolicyGroup>,
    /// What must be satisfied; `None` if nothing must.
    pub(crate) quorum: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyGroup {
    pub(crate) name: String,
    pub(crate) threshold: usize,
    pub(crate) members: Vec<String>,
}

const POLICY_LINES_MAX: usize = 1024;

#[derive(Default)]
struct Draft {
    logs: Vec<Vkey>,
    witnesses: Vec<(String, Vkey)>,
    groups: Vec<PolicyGroup>,
    names: HashSet<String>,
    members: HashSet<String>,
    keys: HashSet<PublicKey>,
    quorum: Option<Option<String>>,
}

fn refuse<T>(code: &'static str, line: usize, detail: impl std::fmt::Display) -> Result<T> {
    Err(Error::verification(code, format!("line {line}: {detail}")))
}

impl Draft {
    fn key(&mut self, text: &str, line: usize, key_type: VkeyType) -> Result<Vkey> {
        let vkey = match Vkey::parse(text) {
            Ok(vkey) if vkey.key_type() == key_type => vkey,
            Ok(_) => return refuse("policy_malformed", line, "a key of this type cannot stand here"),
            Err(error) => return refuse("policy_malformed", line, error),
        };
        if !self.keys.insert(*vkey.public_key()) {
            return refuse("policy_key_reused", line, format!("the key of {} was listed before", vkey.name()));
        }
        Ok(vkey)
    }

    fn define(&mut self, name: &str, line: usize) -> Result<()> {
        if name == "none" || !self.names.insert(name.to_owned()) {
            return refuse("policy_name_reused", line, format!("the name {name} is taken"));
        }
        Ok(())
    }

    fn group(&mut self, name: &str, rule: &str, members: &[&str], line: usize) -> Result<()> {
        for member in members {
            if !self.names.contains(*member) {
                return refuse("policy_name_unknown", line, format!("{member} is not defined above"));
            }
            if !self.members.insert((*member).to_owned()) {
                return refuse("policy_name_reused", line, format!("{member} is a member already"));
            }
        }
        let threshold = match rule {
            "all" => Some(members.len()),
            "any" => Some(1),
            digits => parse_decimal(digits).and_then(|count| usize::try_from(count).ok()),
        };
        let Some(threshold) = threshold.filter(|count| (1..=members.len()).contains(count)) else {
            return refuse("policy_threshold_invalid", line, format!("{rule} of {} members", members.len()));
        };
        self.define(name, line)?;
        let members = members.iter().map(|member| (*member).to_owned()).collect();
        self.groups.push(PolicyGroup { name: name.to_owned(), threshold, members });
        Ok(())
    }

    fn set_quorum(&mut self, words: &[&str], line: usize) -> Result<()> {
        let [name] = words else { return refuse("policy_malformed", line, "a quorum line has one name") };
        if self.quorum.is_some() {
            return refuse("policy_malformed", line, "a policy has one quorum line");
        }
        if *name != "none" && !self.names.contains(*name) {
            return refuse("policy_name_unknown", line, format!("{name} is not defined above"));
        }
        self.quorum = Some((*name != "none").then(|| (*name).to_owned()));
        Ok(())
    }

    fn statement(&mut self, words: &[&str], line: usize) -> Result<()> {
        match words {
            ["log", key] | ["log", key, _] => {
                let vkey = self.key(key, line, VkeyType::Ed25519)?;
                self.logs.push(vkey);
                Ok(())
            }
            ["witness", name, key] | ["witness", name, key, _] => {
                self.define(name, line)?;
                let vkey = self.key(key, line, VkeyType::Cosignature)?;
                self.witnesses.push(((*name).to_owned(), vkey));
                Ok(())
            }
            ["group", name, rule, members @ ..] if !members.is_empty() => self.group(name, rule, members, line),
            ["quorum", rest @ ..] => self.set_quorum(rest, line),
            _ => refuse("policy_malformed", line, "not a statement"),
        }
    }
}

impl TlogPolicy {
    /// Reads a policy: `log`, `witness`, `group`, `quorum`; comments on lines of their own. URLs are accepted and
    /// dropped. Names are defined before use and are members at most once; no key is listed twice.
    ///
    /// # Errors
    /// `policy_malformed`, `policy_name_reused`, `policy_name_unknown`, `policy_key_reused`, `policy_threshold_invalid`
    /// or `policy_too_large`.
    pub fn parse(text: &str) -> Result<Self> {
        let lines: Vec<&str> = text.split('\n').collect();
        if lines.len() > POLICY_LINES_MAX {
            return refuse("policy_too_large", POLICY_LINES_MAX, "too many lines");
        }
        let mut draft = Draft::default();
        for (at, line) in lines.iter().enumerate() {
            let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
            if words.first().is_some_and(|word| !word.starts_with('#')) {
                draft.statement(&words, at + 1)?;
            }
        }
        let Draft { logs, witnesses, groups, quorum, .. } = draft;
        match quorum {
            Some(quorum) => Ok(Self { logs, witnesses, groups, quorum }),
            None => refuse("policy_malformed", lines.len(), "there is no quorum line"),
        }
    }

    /// True if the good cosignature lines satisfy the quorum.
    pub fn is_satisfied_by(&self, verified: &[VerifiedLine]) -> bool {
        let mut satisfied: HashSet<&str> = HashSet::new();
        for (name, vkey) in &self.witnesses {
            if verified.iter().any(|line| line.vkey.public_key() == vkey.public_key()) {
                satisfied.insert(name);
            }
        }
        // Members are defined before their group, so one pass decides all.
        for group in &self.groups {
            let count = group.members.iter().filter(|member| satisfied.contains(member.as_str())).count();
            if count >= group.threshold {
                satisfied.insert(&group.name);
            }
        }
        self.quorum.as_ref().is_none_or(|name| satisfied.contains(name.as_str()))
    }

    /// Verifies the lines of a signed checkpoint by the keys of this policy alone, as a tool without a trust root
    /// would: the lines of its witnesses must be good, and satisfy the quorum.
    ///
    /// # Errors
    /// `quorum_not_met`, or why the note is refused.
    pub fn verify_note(&self, note: &str) -> Result<Vec<VerifiedLine>> {
        crate::ed25519::check_canaries()?;
        let note = parse_note(note)?;
        let known: Vec<&Vkey> = self.logs.iter().chain(self.witnesses.iter().map(|(_, vkey)| vkey)).collect();
        let verified = verify_known_lines(&note, &known)?;
        if !self.is_satisfied_by(&verified) {
            return Err(Error::verification("quorum_not_met", "the cosignatures do not satisfy the policy"));
        }
        Ok(verified)
    }
}

impl std::fmt::Display for TlogPolicy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for vkey in &self.logs {
            writeln!(formatter, "log {vkey}")?;
        }
        for (name, vkey) in &self.witnesses {
            writeln!(formatter, "witness {name} {vkey}")?;
        }
        for PolicyGroup { name, threshold, members } in &self.groups {
            writeln!(formatter, "group {name} {threshold} {}", members.join(" "))?;
        }
        writeln!(formatter, "quorum {}", self.quorum.as_deref().unwrap_or("none"))
    }
}

/// Reduces lines to distinct public keys among `cosigners`. Two names of one key count once.
pub(crate) fn distinct_lines<'a>(verified: &'a [VerifiedLine], cosigners: &[&Vkey]) -> Vec<&'a VerifiedLine> {
    let listed: HashSet<&PublicKey> = cosigners.iter().map(|vkey| vkey.public_key()).collect();
    let mut counted: HashSet<&PublicKey> = HashSet::new();
    verified
        .iter()
        .filter(|line| listed.contains(line.vkey.public_key()) && counted.insert(line.vkey.public_key()))
        .collect()
}
