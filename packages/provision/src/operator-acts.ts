/** What operators do to a running cluster, signed where their keys are. docs/PROTOCOL.md, "Operators' acts". */
import { join } from "node:path";
import {
  UNARY_CALLS,
  decodeApiKeyList,
  decodeOperatorResult,
  encodeOperatorAct,
  usedCounterOf,
} from "@event-anchoring/control-contract";
import type { ActSigner, ApiKeyList, OperatorCall, OperatorResult } from "@event-anchoring/control-contract";
import { createSigner } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import { equalBytes } from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import { readNewestTrustRoot } from "./cluster-files.ts";
import { PrivateFileError, readSeed } from "./files.ts";
import { callOperator, decoded } from "./operator.ts";
import type { CallOptions } from "./operator.ts";

/** Where a ceremony in one place puts the key of an operator. */
export function operatorKeyPath(outDir: string, name = "operator"): string {
  return join(outDir, "operators", `${name}.key`);
}

/** The key's operator by the trust root; null: it lists no operator with this key. */
export function actSignerOf({ operators, clusterId, epoch }: TrustRoot, signer: Signer): ActSigner | null {
  const operator = operators.find(({ vkey }) => equalBytes(vkey.publicKey, signer.publicKey));
  if (operator === undefined) return null;
  return { operator: operator.name, clusterId, epoch, sign: (message) => signer.sign(message) };
}

/** The first operator of a cluster whose keys were made in one place. @throws PrivateFileError */
export async function loadFirstOperator(outDir: string): Promise<ActSigner> {
  const path = operatorKeyPath(outDir);
  const signer = createSigner(await readSeed(path));
  const found = actSignerOf((await readNewestTrustRoot(outDir)).trustRoot, signer);
  if (found !== null) return found;
  throw new PrivateFileError("malformed", path, "the trust root lists no operator with this key");
}

let newestCounter = 0;

/**
 * A clock that once ran ahead by more than this is no reason to go on from there: a node that lies about a counter
 * could have an operator use up all that are left.
 */
const AHEAD_MS_MAX = 24 * 60 * 60_000;

/** Unix milliseconds, and never the same twice, so that no tool has to ask the cluster for an operator's newest act. */
function nextCounter(): number {
  newestCounter = Math.max(Date.now(), newestCounter + 1);
  return newestCounter;
}

/**
 * Signs and sends one act. To ask again is to sign anew; the commands themselves may be repeated.
 * @throws OperatorCallError
 */
export async function act(
  options: CallOptions & { readonly signer: ActSigner; readonly call: OperatorCall },
): Promise<OperatorResult> {
  return withNextCounter(async (counter) => {
    const body = encodeOperatorAct(options.signer, counter, options.call);
    const answer = await callOperator(options, UNARY_CALLS.operator_act, body);
    return decoded(() => decodeOperatorResult(answer));
  });
}

/** Sends with a counter of this clock, and once more after the one that the cluster names, if it knows a later one. */
export async function withNextCounter(send: (counter: number) => Promise<OperatorResult>): Promise<OperatorResult> {
  const result = await send(nextCounter());
  const used = usedCounterOf(result);
  if (used === null || used > Date.now() + AHEAD_MS_MAX) return result;
  newestCounter = Math.max(newestCounter, used);
  return send(nextCounter());
}

/** Every key that the cluster knew when it was asked, the newest first; no secrets. @throws OperatorCallError */
export async function listApiKeys(options: CallOptions): Promise<ApiKeyList> {
  const answer = await callOperator(options, UNARY_CALLS.list_api_keys, new Uint8Array(0));
  return decoded(() => decodeApiKeyList(answer));
}
