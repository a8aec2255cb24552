/** What one version of a trust root changes in the one before it, in the words of the person who signs. */
import { bytesToHex, equalBytes, equalVkeys, findOrigin } from "@event-anchoring/protocol";
import type { TrustRoot, TrustRootNode, TrustRootOperator, TrustRootWitness, Vkey } from "@event-anchoring/protocol";
import { liarsExcluded } from "@event-anchoring/provision";

/** `warning` is no change of its own: it says what the changes amount to. */
export interface Difference {
  readonly kind: "added" | "removed" | "changed" | "warning";
  readonly text: string;
}

/** The first 16 digits say which key is meant; whole keys stand in the document itself. */
export const keyText = (publicKey: Uint8Array): string => bytesToHex(publicKey).slice(0, 16);

/** Every difference, warnings last. The order is that of the document. */
export function differencesOf(before: TrustRoot, after: TrustRoot): readonly Difference[] {
  return [
    ...numbers(before, after),
    ...rootKeys(before, after),
    ...cas(before, after),
    ...origins(before, after),
    ...nodes(before, after),
    ...operators(before, after),
    ...witnesses(before, after),
    ...warnings(before, after),
  ];
}

function numbers(before: TrustRoot, after: TrustRoot): Difference[] {
  const found: Difference[] = [];
  const changed = (what: string, from: string | number, to: string | number): void => {
    if (from !== to) found.push({ kind: "changed", text: `${what}: ${from} → ${to}` });
  };
  changed("epoch (restores of the whole cluster)", before.epoch, after.epoch);
  changed("expires", dayText(before.expiresS), dayText(after.expiresS));
  changed("root threshold", before.rootKeys.threshold, after.rootKeys.threshold);
  changed("cosigning quorum", before.quorum, after.quorum);
  changed("witnesses that must cosign", before.witnessQuorum, after.witnessQuorum);
  return found;
}

function rootKeys({ rootKeys: before }: TrustRoot, { rootKeys: after }: TrustRoot): Difference[] {
  const without = (keys: readonly Vkey[], others: readonly Vkey[]): readonly Vkey[] =>
    keys.filter((key) => !others.some((other) => equalVkeys(key, other)));
  const text = ({ name, publicKey }: Vkey): string => `root key ${name} (${keyText(publicKey)})`;
  return [
    ...without(before.keys, after.keys).map((key) => ({ kind: "removed" as const, text: text(key) })),
    ...without(after.keys, before.keys).map((key) => ({ kind: "added" as const, text: text(key) })),
  ];
}

function cas({ ca: before }: TrustRoot, { ca: after }: TrustRoot): Difference[] {
  const without = (pins: readonly Uint8Array[], others: readonly Uint8Array[]): readonly Uint8Array[] =>
    pins.filter((pin) => !others.some((other) => equalBytes(pin, other)));
  const text = (pin: Uint8Array): string => `CA ${bytesToHex(pin)}`;
  return [
    ...without(before, after).map((pin) => ({ kind: "removed" as const, text: text(pin) })),
    ...without(after, before).map((pin) => ({ kind: "added" as const, text: text(pin) })),
  ];
}

function origins(before: TrustRoot, after: TrustRoot): Difference[] {
  return after.origins.flatMap(({ originFingerprint, status }): Difference[] => {
    const known = findOrigin(before, originFingerprint);
    const name = `origin ${keyText(originFingerprint)}`;
    if (known === undefined) return [{ kind: "added", text: `${name}, ${status}` }];
    return known.status === status ? [] : [{ kind: "changed", text: `${name}: ${known.status} → ${status}` }];
  });
}

function nodes(before: TrustRoot, after: TrustRoot): Difference[] {
  return after.nodes.flatMap((node): Difference[] => {
    const known = before.nodes.find(({ nodeId }) => nodeId === node.nodeId);
    return known === undefined ? [joining(node)] : changesOf(known, node);
  });
}

function joining({ nodeId, status, cosignerVkey, authPublicKey }: TrustRootNode): Difference {
  const keys = `cosigner ${keyText(cosignerVkey.publicKey)}, auth ${keyText(authPublicKey)}`;
  return { kind: "added", text: `node ${nodeId}, ${status}: ${keys}` };
}

function changesOf(before: TrustRootNode, after: TrustRootNode): Difference[] {
  const found: Difference[] = [];
  const changed = (what: string, from: string, to: string): void => {
    if (from !== to) found.push({ kind: "changed", text: `node ${after.nodeId}: ${what}${from} → ${to}` });
  };
  changed("", before.status, after.status);
  changed("origin ", keyText(before.originFingerprint), keyText(after.originFingerprint));
  changed("cosigner key ", keyText(before.cosignerVkey.publicKey), keyText(after.cosignerVkey.publicKey));
  changed("auth key ", keyText(before.authPublicKey), keyText(after.authPublicKey));
  return found;
}

function operators({ operators: before }: TrustRoot, { operators: after }: TrustRoot): Difference[] {
  const text = ({ name, vkey }: TrustRootOperator): string => `operator ${name} (${keyText(vkey.publicKey)})`;
  return addedAndRemoved(before.map(text), after.map(text));
}

function witnesses({ witnesses: before }: TrustRoot, { witnesses: after }: TrustRoot): Difference[] {
  const text = ({ name, vkey, url }: TrustRootWitness): string =>
    `witness ${name}, ${vkey.name} (${keyText(vkey.publicKey)}), ${url}`;
  return addedAndRemoved(before.map(text), after.map(text));
}

function addedAndRemoved(before: readonly string[], after: readonly string[]): Difference[] {
  return [
    ...before.filter((text) => !after.includes(text)).map((text) => ({ kind: "removed" as const, text })),
    ...after.filter((text) => !before.includes(text)).map((text) => ({ kind: "added" as const, text })),
  ];
}

function warnings(before: TrustRoot, after: TrustRoot): Difference[] {
  const found: Difference[] = [];
  const warn = (isSo: boolean, text: string): void => {
    if (isSo) found.push({ kind: "warning", text });
  };
  const active = activeIn(after);
  const { threshold, keys } = after.rootKeys;
  warn(active === after.quorum, `all ${active} active nodes must cosign: when one is down nothing is certified`);
  warn(threshold === keys.length, `all ${threshold} root keys must sign: when one is lost there is no next version`);
  warn(threshold < before.rootKeys.threshold, "fewer root keys than before can change everything");
  warn(after.quorum < before.quorum, "fewer nodes than before can certify");
  const excluded = (root: TrustRoot): number => liarsExcluded({ quorum: root.quorum, nodes: activeIn(root) });
  warn(excluded(after) < excluded(before), "fewer lying nodes than before are excluded");
  warn(after.operators.length === 0, "no operator is left: no API key can be made");
  warn(after.expiresS < before.expiresS, "it expires earlier than the version before");
  warn(
    after.origins.some(({ status, originFingerprint }) => status === "lost" && !isLost(before, originFingerprint)),
    "an origin is given up: it is never written again",
  );
  const moved = nodes(before, after).filter(({ text }) => text.startsWith("node ")).length;
  warn(moved > 2, `${moved} things change about nodes: one at a time is safer`);
  const waiting = untilTheyVote(before, after);
  warn(waiting !== null, waiting ?? "");
  return found;
}

/** Nodes that join as active cannot cosign before they have followed: what that costs; null: nothing. */
function untilTheyVote(before: TrustRoot, after: TrustRoot): string | null {
  const active = after.nodes.filter(({ status }) => status === "active");
  const joining = active.filter(({ nodeId }) => !before.nodes.some((node) => node.nodeId === nodeId));
  const spare = active.length - joining.length - after.quorum;
  if (joining.length === 0 || spare > 0) return null;
  const cost = spare === 0 ? "no other node may be down" : "nothing is certified, and clients are refused";
  const names = joining.map(({ nodeId }) => nodeId).join(", ");
  return `until ${names} can cosign ${cost}: add learners first, and promote them by a second version`;
}

function activeIn({ nodes: listed }: TrustRoot): number {
  return listed.filter(({ status }) => status === "active").length;
}

function isLost(root: TrustRoot, fingerprint: TrustRoot["origins"][number]["originFingerprint"]): boolean {
  return findOrigin(root, fingerprint)?.status === "lost";
}

/** To the second, so that no change hides. */
export function dayText(unixS: number): string {
  const ms = unixS * 1000;
  // Beyond the year 275760 there are no dates.
  return ms > 8.64e15 ? `${unixS} (Unix seconds)` : new Date(ms).toISOString().replace(".000Z", "Z");
}
