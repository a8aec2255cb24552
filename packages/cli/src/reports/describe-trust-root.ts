/** A trust root as a person reads it before signing. */
import { bytesToHex, formatVkey } from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import { describeQuorumShape } from "@event-anchoring/provision";
import type { SignatureCount } from "@event-anchoring/provision";
import type { Mark } from "@event-anchoring/verdicts";
import type { Printer } from "../terminal/printer.ts";
import { alignColumns } from "../terminal/table.ts";
import { dayText, differencesOf, keyText } from "./trust-root-difference.ts";
import type { Difference } from "./trust-root-difference.ts";

const SIGNS: Readonly<Record<Difference["kind"], string>> = { added: "+", removed: "−", changed: "~", warning: "!" };
const MARKS: Readonly<Record<Difference["kind"], Mark>> = {
  added: "pass",
  removed: "fail",
  changed: "warn",
  warning: "warn",
};

export interface DescribedTrustRoot {
  readonly trustRoot: TrustRoot;
  readonly rootThk: Uint8Array;
  /** The version before; null: it is not held. */
  readonly before: TrustRoot | null;
  readonly signatures: readonly SignatureCount[];
}

/** Everything that the document says, then what is new in it, then who has signed. */
export function describeTrustRoot(
  { trustRoot, rootThk, before, signatures }: DescribedTrustRoot,
  printer: Printer,
): void {
  printer.heading(`Trust root of ${trustRoot.clusterName}, version ${trustRoot.version}`);
  describeDocument(trustRoot, rootThk, printer);
  if (before !== null) {
    printer.line();
    printer.heading(`Changes from version ${before.version}`);
    const differences = differencesOf(before, trustRoot);
    if (differences.length === 0) printer.line("  nothing but its version and time of issue");
    for (const { kind, text } of differences) printer.line(`  ${signOf(kind, printer)} ${text}`);
  }
  if (signatures.length === 0) return;
  printer.line();
  printer.heading("Signatures");
  for (const count of signatures) describeSignatures(count, printer);
}

function signOf(kind: Difference["kind"], printer: Printer): string {
  return kind === "warning" ? printer.sign(MARKS[kind]) : SIGNS[kind];
}

function describeDocument(root: TrustRoot, rootThk: Uint8Array, printer: Printer): void {
  const { issuedS, expiresS, rootKeys, nodes } = root;
  const field = (label: string, text: string): void => printer.line(`  ${label.padEnd(10)} ${text}`);
  field("RootTHK", groupsOf(rootThk));
  field("cluster", bytesToHex(root.clusterId));
  field("follows", root.version === 1 ? "nothing: the first version" : bytesToHex(root.previous));
  field("issued", `${dayText(issuedS)}, expires ${dayText(expiresS)}`);
  field("epoch", String(root.epoch));
  const active = nodes.filter(({ status }) => status === "active").length;
  field("quorum", `${root.quorum} of ${active} active nodes must cosign`);
  field("", describeQuorumShape({ quorum: root.quorum, nodes: active }));
  field("root keys", `${rootKeys.threshold} of ${rootKeys.keys.length} must sign`);
  for (const { name, publicKey } of rootKeys.keys) field("", `${name}  ${keyText(publicKey)}`);
  root.ca.forEach((pin, at) => field(at === 0 ? "CAs" : "", bytesToHex(pin)));
  const rows = nodes.map((node) => {
    const origin = root.origins.find(
      ({ originFingerprint }) => bytesToHex(originFingerprint) === bytesToHex(node.originFingerprint),
    );
    return [
      node.nodeId,
      node.status,
      `origin ${keyText(node.originFingerprint)} ${origin?.status ?? ""}`,
      `cosigner ${keyText(node.cosignerVkey.publicKey)}`,
      `auth ${keyText(node.authPublicKey)}`,
    ];
  });
  alignColumns(rows).forEach((row, at) => field(at === 0 ? "nodes" : "", row));
  const operators = root.operators.map(({ name, vkey }) => `${name}  ${keyText(vkey.publicKey)}`);
  (operators.length === 0 ? ["none: no API key can be made"] : operators).forEach((text, at) => {
    field(at === 0 ? "operators" : "", text);
  });
  if (root.witnesses.length === 0) return;
  field("witnesses", `${root.witnessQuorum} of ${root.witnesses.length} must cosign as well`);
  const witnesses = root.witnesses.map(({ name, vkey, url }) => [name, vkey.name, keyText(vkey.publicKey), url]);
  for (const row of alignColumns(witnesses)) field("", row);
}

function describeSignatures({ version, threshold, signed, waiting }: SignatureCount, printer: Printer): void {
  const isEnough = signed.length >= threshold;
  const names = [...signed.map((name) => `${name} ✓`), ...(isEnough ? [] : waiting.map((name) => `${name} –`))];
  const text = `${signed.length} of the ${threshold} that version ${version} asks for: ${names.join(", ")}`;
  printer.check(isEnough ? "pass" : "skip", `version ${version}`, text);
}

/** Eight digits at a time, to be read out over the telephone. */
export function groupsOf(hash: Uint8Array): string {
  return bytesToHex(hash).replace(/(.{8})(?=.)/gu, "$1 ");
}

export function trustRootJson({ trustRoot, rootThk, before, signatures }: DescribedTrustRoot): object {
  return {
    cluster_name: trustRoot.clusterName,
    cluster_id: bytesToHex(trustRoot.clusterId),
    version: trustRoot.version,
    epoch: trustRoot.epoch,
    root_thk: bytesToHex(rootThk),
    issued_at: dayText(trustRoot.issuedS),
    expires_at: dayText(trustRoot.expiresS),
    quorum: trustRoot.quorum,
    root_threshold: trustRoot.rootKeys.threshold,
    root_keys: trustRoot.rootKeys.keys.map(({ name }) => name),
    ca: trustRoot.ca.map(bytesToHex),
    nodes: trustRoot.nodes.map((node) => ({
      node_id: node.nodeId,
      status: node.status,
      origin_fingerprint: bytesToHex(node.originFingerprint),
      cosigner_public_key: bytesToHex(node.cosignerVkey.publicKey),
      auth_public_key: bytesToHex(node.authPublicKey),
    })),
    operators: trustRoot.operators.map(({ name, vkey }) => ({ name, public_key: bytesToHex(vkey.publicKey) })),
    witnesses: trustRoot.witnesses.map(({ name, vkey, url }) => ({ name, vkey: formatVkey(vkey), url })),
    witness_quorum: trustRoot.witnessQuorum,
    differences: before === null ? null : differencesOf(before, trustRoot),
    signatures,
  };
}
