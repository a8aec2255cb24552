/** Whether a quorum has cosigned a tree: the part of a receipt's verification that does not concern a leaf. */
import {
  CheckpointError,
  NoteError,
  VKEY_TYPE,
  checkpointKeys,
  checkpointOrigin,
  distinctPolicyLines,
  equalBytes,
  equalVkeys,
  findOrigin,
  parseCheckpoint,
  parseNote,
  quorumPolicyOf,
  verifyKnownLines,
  withoutWitnesses,
  witnessingOf,
} from "@event-anchoring/protocol";
import type {
  Checkpoint,
  Ed25519Verify,
  NoteRefusalCode,
  SignedTrustRoot,
  TrustRootChain,
  TrustRootOrigin,
  VerifiedLine,
  Witnessing,
} from "@event-anchoring/protocol";

export type CheckpointFailureCode =
  | "checkpoint_malformed"
  | "origin_differs"
  | "origin_unknown"
  | NoteRefusalCode
  | "log_signature_missing"
  | "quorum_not_met"
  | "cosigner_distrusted";

export type CheckpointVerification =
  | {
      readonly verdict: "valid";
      readonly checkpoint: Checkpoint;
      /** As the newest version lists it. */
      readonly origin: TrustRootOrigin;
      /** Good lines of the log and of nodes. */
      readonly verified: readonly VerifiedLine[];
      /** What the newest version says of the lines of witnesses. */
      readonly witnessing: Witnessing;
      /** The older version under which alone it is satisfied; null: under the newest. */
      readonly supersededTrustRoot: number | null;
    }
  | { readonly verdict: "invalid"; readonly code: CheckpointFailureCode; readonly detail: string };

function invalid(code: CheckpointFailureCode, detail: string): CheckpointVerification {
  return { verdict: "invalid", code, detail };
}

/** Whether distinct good lines of this version's active nodes reach its quorum. */
function meets({ trustRoot }: SignedTrustRoot, origin: TrustRootOrigin, lines: readonly VerifiedLine[]): boolean {
  if (findOrigin(trustRoot, origin.originFingerprint) === undefined) return false;
  const policy = quorumPolicyOf(trustRoot);
  return distinctPolicyLines(lines, policy).length >= policy.threshold;
}

/** Drops lines of nodes that the newest version marks `distrusted`, whichever key they used. */
function withoutDistrusted({ newest }: TrustRootChain, lines: readonly VerifiedLine[]): VerifiedLine[] {
  const distrusted = newest.trustRoot.nodes.flatMap((node) =>
    node.status === "distrusted" ? [node.cosignerVkey] : [],
  );
  return lines.filter(
    ({ vkey }) => !distrusted.some((key) => key.name === vkey.name || equalBytes(key.publicKey, vkey.publicKey)),
  );
}

/** Steps 8 to 10 of a receipt. */
function judgeLines(
  checkpoint: Checkpoint,
  origin: TrustRootOrigin,
  lines: readonly VerifiedLine[],
  trustRoots: TrustRootChain,
): CheckpointVerification {
  const verified = withoutWitnesses(trustRoots.newest.trustRoot, lines);
  const witnessing = witnessingOf(trustRoots.newest.trustRoot, lines);
  const isLogged = verified.some(({ vkey }) => vkey.type === VKEY_TYPE.ed25519 && equalVkeys(vkey, origin.logVkey));
  if (!isLogged) return invalid("log_signature_missing", `no signature line of ${origin.logVkey.name}`);
  const valid = { verdict: "valid", checkpoint, origin, verified, witnessing } as const;
  const { versions, newest } = trustRoots;
  if (meets(newest, origin, verified)) return { ...valid, supersededTrustRoot: null };
  const trusted = withoutDistrusted(trustRoots, verified);
  for (let at = versions.length - 1; at >= 0; at--) {
    const version = versions[at];
    if (version !== undefined && meets(version, origin, trusted))
      return { ...valid, supersededTrustRoot: version.trustRoot.version };
  }
  const needsDistrusted = versions.some((version) => meets(version, origin, verified));
  if (needsDistrusted)
    return invalid(
      "cosigner_distrusted",
      `the quorum needs a node that trust root ${newest.trustRoot.version} distrusts`,
    );
  const cosigners = verified.filter(({ timeS }) => timeS !== null).length;
  return invalid(
    "quorum_not_met",
    `${cosigners} good cosignatures, a quorum is ${newest.trustRoot.quorum} of the active nodes`,
  );
}

function readCheckpoint(note: string): { note: ReturnType<typeof parseNote>; checkpoint: Checkpoint } | string {
  try {
    const parsed = parseNote(note);
    return { note: parsed, checkpoint: parseCheckpoint(parsed.text) };
  } catch (error) {
    if (error instanceof NoteError || error instanceof CheckpointError) return error.message;
    throw error;
  }
}

/**
 * Verifies a signed checkpoint, which may be attacker-controlled, by the rules of a receipt.
 * @param note the whole signed note
 * @param trustRoots from verifyTrustRootChain. Never from the checkpoint's own source without a pin.
 */
export function verifyCheckpoint(
  note: string,
  trustRoots: TrustRootChain,
  verify: Ed25519Verify,
): CheckpointVerification {
  const read = readCheckpoint(note);
  if (typeof read === "string") return invalid("checkpoint_malformed", read);
  const { checkpoint } = read;
  const { clusterName, origins, version } = trustRoots.newest.trustRoot;
  if (!checkpoint.origin.startsWith(`${clusterName}/origin/`))
    return invalid("origin_differs", `${checkpoint.origin} is no origin of cluster ${clusterName}`);
  const origin = origins.find((each) => checkpointOrigin(clusterName, each.originFingerprint) === checkpoint.origin);
  if (origin === undefined)
    return invalid("origin_unknown", `trust root ${version} does not list origin ${checkpoint.origin}`);
  const { verified, refusal } = verifyKnownLines(read.note, checkpointKeys(trustRoots, origin), verify);
  if (refusal !== null) return invalid(refusal.code, `the signature line of ${refusal.name}`);
  return judgeLines(checkpoint, origin, verified, trustRoots);
}
