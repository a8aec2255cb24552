/** C2SP tlog-policy: the quorum rule in a form that other tools read. */
import { equalBytes } from "./bytes.ts";
import { parseDecimal } from "./checkpoint.ts";
import type { Sha256 } from "./crypto.ts";
import type { VerifiedLine } from "./known-lines.ts";
import { NoteError, VKEY_TYPE, formatVkey, parseVkey } from "./note.ts";
import type { Vkey } from "./note.ts";

/** C2SP tlog-policy, parsed. */
export interface TlogPolicy {
  readonly logs: readonly Vkey[];
  readonly witnesses: readonly PolicyWitness[];
  readonly groups: readonly PolicyGroup[];
  /** Name of the witness or group that must be satisfied; null if none must (`quorum none`). */
  readonly quorum: string | null;
}

export interface PolicyWitness {
  readonly name: string;
  readonly vkey: Vkey;
}

export interface PolicyGroup {
  readonly name: string;
  readonly threshold: number;
  readonly members: readonly string[];
}

export type PolicyCode =
  | "policy_malformed"
  | "policy_name_reused"
  | "policy_name_unknown"
  | "policy_key_reused"
  | "policy_threshold_invalid"
  | "policy_too_large";

/** Not a policy. Match on `code`; `line` counts from 1. */
class PolicyError extends Error {
  readonly code: PolicyCode;
  readonly line: number;
  constructor(code: PolicyCode, line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.name = "PolicyError";
    this.code = code;
    this.line = line;
  }
}

const POLICY_LINES_MAX = 1024;

/** One statement a line, in the order of definition. */
export function formatPolicy(policy: TlogPolicy): string {
  return [
    ...policy.logs.map((vkey) => `log ${formatVkey(vkey)}`),
    ...policy.witnesses.map(({ name, vkey }) => `witness ${name} ${formatVkey(vkey)}`),
    ...policy.groups.map(({ name, threshold, members }) => `group ${name} ${threshold} ${members.join(" ")}`),
    `quorum ${policy.quorum ?? "none"}`,
    "",
  ].join("\n");
}

interface PolicyDraft {
  readonly logs: Vkey[];
  readonly witnesses: PolicyWitness[];
  readonly groups: PolicyGroup[];
  readonly names: Set<string>;
  readonly members: Set<string>;
  readonly keys: Uint8Array[];
  quorum: string | null | undefined;
}

function readKey(draft: PolicyDraft, text: string, line: number, type: Vkey["type"], sha256: Sha256): Vkey {
  let vkey: Vkey;
  try {
    vkey = parseVkey(text, sha256);
  } catch (error) {
    if (error instanceof NoteError) throw new PolicyError("policy_malformed", line, error.message);
    throw error;
  }
  if (vkey.type !== type) throw new PolicyError("policy_malformed", line, "a key of this type cannot stand here");
  if (draft.keys.some((key) => equalBytes(key, vkey.publicKey))) {
    throw new PolicyError("policy_key_reused", line, `the key of ${vkey.name} was listed before`);
  }
  draft.keys.push(vkey.publicKey);
  return vkey;
}

function defineName(draft: PolicyDraft, name: string, line: number): void {
  if (name === "none" || draft.names.has(name)) {
    throw new PolicyError("policy_name_reused", line, `the name ${name} is taken`);
  }
  draft.names.add(name);
}

function readGroup(draft: PolicyDraft, words: readonly string[], line: number): void {
  const [name = "", rule = "", ...members] = words;
  for (const member of members) {
    if (!draft.names.has(member)) throw new PolicyError("policy_name_unknown", line, `${member} is not defined above`);
    if (draft.members.has(member)) throw new PolicyError("policy_name_reused", line, `${member} is a member already`);
    draft.members.add(member);
  }
  const threshold = rule === "all" ? members.length : rule === "any" ? 1 : parseDecimal(rule);
  if (threshold === null || threshold < 1 || threshold > members.length) {
    throw new PolicyError("policy_threshold_invalid", line, `${rule} of ${members.length} members`);
  }
  defineName(draft, name, line);
  draft.groups.push({ name, threshold, members });
}

function readQuorum(draft: PolicyDraft, words: readonly string[], line: number): void {
  const [name = ""] = words;
  if (words.length !== 1 || draft.quorum !== undefined) {
    throw new PolicyError("policy_malformed", line, "a policy has one quorum line with one name");
  }
  if (name !== "none" && !draft.names.has(name)) {
    throw new PolicyError("policy_name_unknown", line, `${name} is not defined above`);
  }
  draft.quorum = name === "none" ? null : name;
}

function readStatement(draft: PolicyDraft, words: readonly string[], line: number, sha256: Sha256): void {
  const [keyword = "", ...rest] = words;
  const [first = "", second = ""] = rest;
  if (keyword === "log" && (rest.length === 1 || rest.length === 2)) {
    draft.logs.push(readKey(draft, first, line, VKEY_TYPE.ed25519, sha256));
  } else if (keyword === "witness" && (rest.length === 2 || rest.length === 3)) {
    defineName(draft, first, line);
    draft.witnesses.push({ name: first, vkey: readKey(draft, second, line, VKEY_TYPE.cosignature, sha256) });
  } else if (keyword === "group" && rest.length >= 3) {
    readGroup(draft, rest, line);
  } else if (keyword === "quorum") {
    readQuorum(draft, rest, line);
  } else {
    throw new PolicyError("policy_malformed", line, `not a statement: ${keyword}`);
  }
}

/**
 * Reads a policy: `log`, `witness`, `group`, `quorum`; comments on lines of their own. URLs are accepted and dropped.
 * Names are defined before use and are members at most once; no key is listed twice.
 * @throws PolicyError
 */
export function parsePolicy(text: string, sha256: Sha256): TlogPolicy {
  const lines = text.split("\n");
  if (lines.length > POLICY_LINES_MAX) throw new PolicyError("policy_too_large", POLICY_LINES_MAX, "too many lines");
  const draft: PolicyDraft = {
    logs: [],
    witnesses: [],
    groups: [],
    names: new Set(),
    members: new Set(),
    keys: [],
    quorum: undefined,
  };
  lines.forEach((content, index) => {
    const words = content.split(/[ \t]+/).filter((word) => word !== "");
    if (words.length > 0 && words[0]?.startsWith("#") !== true) readStatement(draft, words, index + 1, sha256);
  });
  const { logs, witnesses, groups, quorum } = draft;
  if (quorum === undefined) throw new PolicyError("policy_malformed", lines.length, "there is no quorum line");
  return { logs, witnesses, groups, quorum };
}

/** True if the good cosignature lines satisfy the policy's quorum. */
export function satisfiesPolicy(policy: TlogPolicy, verified: readonly VerifiedLine[]): boolean {
  const satisfied = new Set<string>();
  for (const { name, vkey } of policy.witnesses) {
    if (verified.some((line) => equalBytes(line.vkey.publicKey, vkey.publicKey))) satisfied.add(name);
  }
  // Members are defined before their group, so one pass decides all.
  for (const { name, threshold, members } of policy.groups) {
    if (members.filter((member) => satisfied.has(member)).length >= threshold) satisfied.add(name);
  }
  return policy.quorum === null || satisfied.has(policy.quorum);
}
