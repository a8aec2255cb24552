/** The quorum rule of a trust root as a policy file that other tools read. docs/PROTOCOL.md, "Quorum and policy". */
import { assertNever } from "./assert-never.ts";
import { bytesToHex } from "./bytes.ts";
import { formatVkey } from "./note.ts";
import type { Vkey } from "./note.ts";
import type { TlogPolicy } from "./policy.ts";
import { policyWitnessName, tlogPolicyOf, witnessedPolicyOf } from "./trust-root.ts";
import type { SignedTrustRoot } from "./trust-root.ts";

/**
 * `tlog`: C2SP tlog-policy with a URL on every witness line, which transparency-dev's parser asks for.
 * `sigsum`: Sigsum's policy file, whose keys are hex digits without name and type.
 */
export const POLICY_FORMATS = ["tlog", "sigsum"] as const;
export type PolicyFormat = (typeof POLICY_FORMATS)[number];

/** What a checkpoint must be to satisfy a policy. */
export type PolicyDemand = "certified" | "witnessed";

/** Names that one of the parsers keeps for itself. A node may be called so; `/` cannot stand in a node id. */
const KEYWORDS: ReadonlySet<string> = new Set(["log", "witness", "group", "quorum", "any", "all", "none"]);

function nameOf(nodeId: string): string {
  return KEYWORDS.has(nodeId) ? `node/${nodeId}` : nodeId;
}

/** Nodes take no requests for cosignatures, so the address is one that never resolves (RFC 6761). */
function nodeUrl(nodeId: string): string {
  return `https://${nodeId}.invalid`;
}

function logLines(vkey: Vkey, format: PolicyFormat): string[] {
  switch (format) {
    case "tlog":
      return [`log ${formatVkey(vkey)}`];
    case "sigsum":
      return [`# ${vkey.name}`, `log ${bytesToHex(vkey.publicKey)}`];
    default:
      return assertNever(format);
  }
}

function witnessLines(name: string, vkey: Vkey, url: string, format: PolicyFormat): string[] {
  switch (format) {
    case "tlog":
      return [`witness ${nameOf(name)} ${formatVkey(vkey)} ${url}`];
    case "sigsum":
      return [`# ${vkey.name}`, `witness ${nameOf(name)} ${bytesToHex(vkey.publicKey)}`];
    default:
      return assertNever(format);
  }
}

function ruleLines({ groups, quorum }: TlogPolicy): string[] {
  const lines = groups.map(
    ({ name, threshold, members }) => `group ${name} ${threshold} ${members.map(nameOf).join(" ")}`,
  );
  return [...lines, `quorum ${quorum ?? "none"}`];
}

/**
 * The policy of this one version: every log key, the active nodes, and how many of them must have signed; for
 * witnessed heads also the witnesses, and how many of them. It begins with comments that say which trust root it is of,
 * for nothing else in it does. Verify the trust root first.
 * @param demand `witnessed` is for a trust root that lists witnesses
 */
export function renderPolicy(
  { trustRoot, rootThk }: SignedTrustRoot,
  format: PolicyFormat,
  demand: PolicyDemand = "certified",
): string {
  const policy = demand === "witnessed" ? witnessedPolicyOf(trustRoot) : tlogPolicyOf(trustRoot);
  const urls = new Map(trustRoot.witnesses.map(({ name, url }) => [policyWitnessName(name), url]));
  return [
    `# ${trustRoot.clusterName}, trust root ${trustRoot.version}`,
    `# RootTHK ${bytesToHex(rootThk)}`,
    ...policy.logs.flatMap((vkey) => logLines(vkey, format)),
    ...policy.witnesses.flatMap(({ name, vkey }) => witnessLines(name, vkey, urls.get(name) ?? nodeUrl(name), format)),
    ...ruleLines(policy),
    "",
  ].join("\n");
}
