/** Judges what is neither receipt nor bundle: a checkpoint, and the trust roots themselves. */
import { verifyCheckpoint } from "@event-anchoring/bundle";
import { bytesToHex, nobleCrypto } from "@event-anchoring/protocol";
import type { TrustRoot, Witnessing } from "@event-anchoring/protocol";
import { isoSeconds, notPinnedText } from "@event-anchoring/verdicts";
import type { JudgedBy, Mark, ShownStep } from "@event-anchoring/verdicts";
import type { GivenOf } from "../given/given.ts";
import type { Judged } from "./judged.ts";
import { PIN_ADVICE, pinStep } from "./pin-step.ts";

/** The lines of witnesses, which are needed if they are demanded. */
function witnessSteps(
  { witnesses, witnessesNeeded, witnessed }: Witnessing,
  good: Mark,
  isDemanded: boolean,
): ShownStep[] {
  const unmet: Mark = isDemanded ? "fail" : "skip";
  const counted = `${witnesses.length} good, ${witnessesNeeded} needed`;
  const detail = witnessesNeeded === 0 ? "the trust root lists no witness" : counted;
  return [
    { mark: witnessed ? good : unmet, label: "witnesses", detail },
    ...witnesses.map(({ name, witnessedAt }): ShownStep => {
      return { mark: witnessed ? good : "skip", label: "", detail: `${name} signed at ${isoSeconds(witnessedAt)}` };
    }),
  ];
}

export function judgeCheckpoint(
  { name, note }: GivenOf<"checkpoint">,
  judgedBy: JudgedBy,
  requireWitnessed: boolean,
): Judged {
  const found = verifyCheckpoint(note, judgedBy.chain, nobleCrypto.ed25519Verify);
  const base = { name, kind: "checkpoint", leaf: null, bundle: null } as const;
  if (found.verdict === "invalid") {
    const step: ShownStep = { mark: "fail", label: found.code.replaceAll("_", " "), detail: found.detail };
    const text = `NOT VALID (${found.code}): ${found.detail}`;
    return { ...base, mark: "fail", text, steps: [pinStep(judgedBy), step] };
  }
  const good: Mark = judgedBy.pin === null ? "skip" : "pass";
  const { checkpoint, verified, supersededTrustRoot, origin, witnessing } = found;
  const cosigners = verified.flatMap(({ vkey, timeS }) => (timeS === null ? [] : [{ vkey, timeS }]));
  const warnings = [
    ...(supersededTrustRoot === null ? [] : [`only trust root ${supersededTrustRoot} is satisfied, not the newest`]),
    ...(origin.status === "lost" ? ["the origin is marked lost: it is never written to again"] : []),
  ];
  const steps: ShownStep[] = [
    pinStep(judgedBy),
    { mark: good, label: "origin", detail: checkpoint.origin },
    { mark: good, label: "tree", detail: `${checkpoint.treeSize} leaves, root ${bytesToHex(checkpoint.rootHash)}` },
    { mark: good, label: "cosignatures", detail: `${cosigners.length} good, a quorum` },
    ...cosigners.map(({ vkey, timeS }): ShownStep => {
      return { mark: good, label: "", detail: `${vkey.name} signed at ${isoSeconds(timeS)}` };
    }),
    ...witnessSteps(witnessing, good, requireWitnessed),
    ...warnings.map((detail): ShownStep => ({ mark: "warn", label: "warning", detail })),
  ];
  if (requireWitnessed && !witnessing.witnessed) {
    const code = witnessing.witnessesNeeded === 0 ? "no_witnesses" : "not_witnessed";
    return { ...base, mark: "fail", text: `NOT VALID (${code}): the checkpoint is certified and not witnessed`, steps };
  }
  if (judgedBy.pin === null) {
    const text = `NOT PINNED: checkpoint and trust root go together, which proves nothing yet: ${advice(judgedBy)}`;
    return { ...base, mark: "warn", text, steps };
  }
  const names = witnessing.witnesses.map((witness) => witness.name).join(", ");
  const witnessed = witnessing.witnessed ? `, witnessed by ${names}` : "";
  const text = `VALID: a quorum has cosigned this tree of ${checkpoint.treeSize} leaves${witnessed}.`;
  return { ...base, mark: "pass", text, steps };
}

function advice(judgedBy: JudgedBy): string {
  return notPinnedText(judgedBy, PIN_ADVICE);
}

function witnessRule({ witnesses, witnessQuorum }: TrustRoot): string {
  const names = witnesses.map(({ name }) => name).join(", ");
  return `${witnessQuorum} of ${witnesses.length} must sign what is witnessed: ${names}`;
}

function documentSteps(root: TrustRoot, mark: Mark): ShownStep[] {
  const active = root.nodes.filter(({ status }) => status === "active");
  const others = root.nodes.filter(({ status }) => status !== "active");
  return [
    { mark, label: "cluster", detail: `${root.clusterName}, id ${bytesToHex(root.clusterId)}` },
    { mark, label: "validity", detail: `issued ${isoSeconds(root.issuedS)}, expires ${isoSeconds(root.expiresS)}` },
    { mark, label: "root keys", detail: `${root.rootKeys.threshold} of ${root.rootKeys.keys.length} must sign` },
    { mark, label: "quorum", detail: `${root.quorum} of ${active.length} active nodes must cosign` },
    { mark, label: "nodes", detail: active.map(({ nodeId }) => nodeId).join(", ") },
    ...others.map(({ nodeId, status }): ShownStep => ({ mark: "skip", label: "", detail: `${nodeId} is ${status}` })),
    { mark, label: "origins", detail: `${root.origins.length}` },
    ...(root.witnesses.length === 0 ? [] : [{ mark, label: "witnesses", detail: witnessRule(root) }]),
  ];
}

/** The chain of trust roots that is held, as one thing. */
export function judgeTrustRoots(name: string, judgedBy: JudgedBy): Judged {
  const { chain, pin } = judgedBy;
  const isPinned = pin !== null;
  const mark: Mark = isPinned ? "pass" : "skip";
  const versions = chain.versions.map(({ trustRoot, rootThk }): ShownStep => {
    return { mark, label: `version ${trustRoot.version}`, detail: `RootTHK ${bytesToHex(rootThk)}` };
  });
  const newest = chain.newest.trustRoot;
  const text = isPinned
    ? `VALID: this is the trust root of ${newest.clusterName} that the pin names, up to version ${newest.version}.`
    : `NOT PINNED: ${advice(judgedBy)}`;
  const steps = [pinStep(judgedBy), ...versions, ...documentSteps(newest, mark)];
  return { name, kind: "trust root", mark: isPinned ? "pass" : "warn", text, steps, leaf: null, bundle: null };
}
