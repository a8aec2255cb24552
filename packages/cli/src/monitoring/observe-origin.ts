/** One look at one origin through one node: is its newest tree certified, and does it continue the one seen before? */
import { verifyCheckpoint } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  base64ToBytes,
  checkpointOrigin,
  equalBytes,
  hexToBytes,
  toOriginFingerprint,
  verifyConsistency,
} from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { fieldsAt, textAt, textsAt } from "../answer-fields.ts";
import { CliError, EXIT } from "../cli-error.ts";
import { expectStatus } from "../service.ts";
import type { Answer, Service } from "../service.ts";
import { leaves } from "../words.ts";
import { headOrNull } from "./monitor-state.ts";
import type { SeenHead } from "./monitor-state.ts";

export type AlarmCode =
  | "rollback"
  | "split_view"
  | "inconsistent"
  | "checkpoint_invalid"
  | "trust_root_rollback"
  | "trust_root_fork";

export interface Alarm {
  readonly code: AlarmCode;
  readonly originFingerprint: string | null;
  readonly apiUrl: string;
  readonly detail: string;
  /** Signed notes that contradict one another, as far as there are any: evidence. */
  readonly evidence: readonly string[];
}

export type Observation =
  | { readonly outcome: "unchanged" | "grown"; readonly head: SeenHead }
  | { readonly outcome: "empty" }
  | { readonly outcome: "alarm"; readonly alarm: Alarm };

/** @param seen what was seen before; null: nothing @throws CliError `unavailable` */
export async function observeOrigin(
  service: Service,
  originFingerprint: string,
  seen: SeenHead | null,
  chain: TrustRootChain,
): Promise<Observation> {
  const from = seen === null ? "" : `&from_size=${seen.treeSize}`;
  const path = `/v1/event-anchors/latest?origin_fingerprint=${originFingerprint}${from}`;
  const answer = await service.ask({ method: "GET", path });
  const alarmed = (code: AlarmCode, detail: string, note: string | null): Observation => ({
    outcome: "alarm",
    alarm: {
      code,
      originFingerprint,
      apiUrl: answer.apiUrl,
      detail,
      evidence: [...(seen === null ? [] : [seen.checkpoint]), ...(note === null ? [] : [note])],
    },
  });
  if (isProblem(answer, 404, "no_anchor_yet") && seen === null) return { outcome: "empty" };
  if (seen !== null && (isProblem(answer, 404, "no_anchor_yet") || isProblem(answer, 409, "from_size_ahead"))) {
    const note = await checkpointOf(service, originFingerprint);
    const now = note === null ? null : (headOrNull(note)?.treeSize ?? null);
    const shown = now === null ? "a smaller one" : `one of ${now}`;
    return alarmed("rollback", `a tree of ${leaves(seen.treeSize)} was seen, now the service has ${shown}`, note);
  }
  const { body } = expectStatus(answer, 200);
  const note = textAt(body, "checkpoint");
  const verdict = verifyCheckpoint(note, chain, nodeCrypto.ed25519Verify);
  const head = headOrNull(note);
  if (verdict.verdict === "invalid") return alarmed("checkpoint_invalid", `${verdict.detail} (${verdict.code})`, note);
  const wanted = checkpointOrigin(
    chain.newest.trustRoot.clusterName,
    toOriginFingerprint(hexToBytes(originFingerprint, 32)),
  );
  if (head === null || verdict.checkpoint.origin !== wanted) {
    return alarmed("checkpoint_invalid", "the checkpoint is of another origin", note);
  }
  if (seen === null) return { outcome: "grown", head };
  if (head.treeSize < seen.treeSize) {
    return alarmed("rollback", `a tree of ${leaves(seen.treeSize)} was seen, now one of ${head.treeSize}`, note);
  }
  if (head.treeSize === seen.treeSize) {
    if (equalBytes(head.rootHash, seen.rootHash)) return { outcome: "unchanged", head };
    return alarmed("split_view", `two trees of ${leaves(head.treeSize)} have different roots`, note);
  }
  const claim = { oldSize: seen.treeSize, oldRoot: seen.rootHash, size: head.treeSize, root: head.rootHash };
  const isConsistent = verifyConsistency({ ...claim, path: proofOf(answer) }, nodeCrypto.sha256);
  if (isConsistent) return { outcome: "grown", head };
  const detail = `the tree of ${leaves(seen.treeSize)} is not shown to be the beginning of that of ${head.treeSize}`;
  return alarmed("inconsistent", detail, note);
}

/** What the node says is the newest tree, as evidence; null if it says nothing. */
async function checkpointOf(service: Service, originFingerprint: string): Promise<string | null> {
  try {
    return Buffer.from(await service.askBytes(`/v1/origins/${originFingerprint}/checkpoint`)).toString("utf8");
  } catch (error) {
    if (error instanceof CliError) return null;
    throw error;
  }
}

function isProblem({ status, body }: Answer, wanted: number, code: string): boolean {
  return status === wanted && body["code"] === code;
}

function proofOf({ body }: Answer): readonly Uint8Array[] {
  try {
    return textsAt(fieldsAt(body, "consistency"), "proof").map((hash) => base64ToBytes(hash, 32));
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(EXIT.unavailable, "answer_malformed", "the service sent no proper consistency proof", error);
  }
}
