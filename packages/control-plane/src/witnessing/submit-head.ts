import type { WitnessLine } from "@event-anchoring/control-contract";
import {
  AddCheckpointError,
  COSIGNATURES_BYTES_MAX,
  TREE_SIZE_CONTENT_TYPE,
  type TrustRootWitness,
  formatAddCheckpoint,
  parseCosignatures,
  parseTreeSize,
} from "@event-anchoring/protocol";
import { ownLineIn } from "./witness-lines.ts";
import type { WitnessAnswer, WitnessTransport } from "./witness-transport.ts";

/** Why a witness gave no line; labels of a metric. */
export const WITNESS_FAILURES = [
  "unreachable",
  "unavailable",
  "log_unknown",
  "log_key_unknown",
  "refused",
  "answer_malformed",
  "line_invalid",
  "ahead_of_log",
  "other_history",
] as const;

export type WitnessFailure = (typeof WITNESS_FAILURES)[number];

export type SubmitOutcome =
  | { readonly kind: "line"; readonly line: WitnessLine }
  /** It has cosigned a larger tree of this log. */
  | { readonly kind: "ahead"; readonly treeSize: number }
  | { readonly kind: "failed"; readonly failure: WitnessFailure; readonly detail: string };

export interface HeadToSubmit {
  readonly treeSize: number;
  /** The whole signed note, the log's line first. */
  readonly checkpoint: string;
  /** RFC 6962 consistency proof from a smaller size; rejects if it cannot be made. */
  readonly proveGrowth: (oldSize: number) => Promise<readonly Uint8Array[]>;
}

export interface SubmitParts {
  readonly transport: WitnessTransport;
  /** Whether a line that the witness has answered verifies. */
  readonly isGood: (line: WitnessLine) => boolean;
  readonly signal: AbortSignal;
}

/** A witness may learn of a head of ours from elsewhere between two of our requests, but not for ever. */
const TRIES_MAX = 3;

/**
 * Asks a witness for its line over a head: C2SP tlog-witness, `add-checkpoint`. If it knows another size than
 * `knownSize`, it is asked again with a proof from there.
 */
export async function submitHead(
  head: HeadToSubmit,
  witness: TrustRootWitness,
  knownSize: number,
  parts: SubmitParts,
): Promise<SubmitOutcome> {
  let oldSize = Math.min(knownSize, head.treeSize);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const answer = await ask(head, witness, oldSize, parts);
    if ("kind" in answer) return answer;
    if (answer.status !== 409) return judge(answer, witness, oldSize, parts);
    const treeSize = treeSizeIn(answer);
    if (treeSize === null || treeSize === oldSize) return failed("answer_malformed", "409 names no other size");
    if (treeSize > head.treeSize) return { kind: "ahead", treeSize };
    oldSize = treeSize;
  }
  return failed("unavailable", "its size changed while it was asked");
}

function failed(failure: WitnessFailure, detail: string): SubmitOutcome & { kind: "failed" } {
  return { kind: "failed", failure, detail };
}

async function ask(
  head: HeadToSubmit,
  { url }: TrustRootWitness,
  oldSize: number,
  { transport, signal }: SubmitParts,
): Promise<WitnessAnswer | (SubmitOutcome & { kind: "failed" })> {
  const proof = oldSize === 0 || oldSize === head.treeSize ? [] : await head.proveGrowth(oldSize);
  const body = formatAddCheckpoint({ oldSize, proof, checkpoint: head.checkpoint });
  try {
    return await transport({
      url: `${url.replace(/\/$/, "")}/add-checkpoint`,
      body,
      answerBytesMax: COSIGNATURES_BYTES_MAX,
      signal,
    });
  } catch (error) {
    return failed("unreachable", error instanceof Error ? error.message : String(error));
  }
}

function treeSizeIn({ contentType, body }: WitnessAnswer): number | null {
  if (!contentType.startsWith(TREE_SIZE_CONTENT_TYPE)) return null;
  try {
    return parseTreeSize(body);
  } catch (error) {
    if (error instanceof AddCheckpointError) return null;
    throw error;
  }
}

function judge(
  { status, body }: WitnessAnswer,
  witness: TrustRootWitness,
  oldSize: number,
  { isGood }: SubmitParts,
): SubmitOutcome {
  switch (status) {
    case 200:
      return lineOf(body, witness, isGood);
    case 403:
      return failed("log_key_unknown", "it does not accept the log's signature");
    case 404:
      return failed("log_unknown", "it does not know this log");
    case 422:
      // Our proof is right: it holds another tree of that size.
      if (oldSize > 0) return failed("other_history", `it refuses the proof from its own size ${oldSize}`);
      return failed("refused", "422 without a proof");
    default: {
      const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429;
      return failed(isRefused ? "refused" : "unavailable", `status ${status}`);
    }
  }
}

function lineOf(body: Uint8Array, witness: TrustRootWitness, isGood: SubmitParts["isGood"]): SubmitOutcome {
  try {
    const line = ownLineIn(parseCosignatures(body), witness);
    if (line === null || !isGood(line)) return failed("line_invalid", "there is no good line of its key");
    return { kind: "line", line };
  } catch (error) {
    if (error instanceof AddCheckpointError) return failed("answer_malformed", error.message);
    throw error;
  }
}
