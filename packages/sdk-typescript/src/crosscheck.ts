/**
 * One line of JSON in, one line out: what the tests ask of every SDK, so that each can check the others. Inputs have
 * the wire names of docs/API.md. It is no part of the published package.
 */
import { bytesToHex } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { verifySignature } from "./crypto.ts";
import { AnchoringError, InvalidInput, VerificationError } from "./errors.ts";
import { bytes32, bytes64 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import { LocalKey } from "./local-key.ts";
import { prepareClaimAnchor } from "./prepare-claim.ts";
import { prepareEventAnchor } from "./prepare-event.ts";
import { prepareGrantAnchor } from "./prepare-grant.ts";
import { prepareRevocation } from "./prepare-revocation.ts";
import type { Payload } from "./payload.ts";
import type { PreparedRequest } from "./prepared-request.ts";
import { Receipt } from "./receipt.ts";
import { inspectBundle } from "./verify-bundle.ts";
import { verifyCheckpoint } from "./verify-checkpoint.ts";
import { inspectReceipt } from "./verify-receipt.ts";
import { verifyTrustRoot } from "./verify-trust-root.ts";
import { fromWireNames, wireName } from "./wire-names.ts";

type Fields = Readonly<Record<string, unknown>>;

function shown({ role, hex, digest }: Payload): Fields {
  return { [`${role}_payload`]: hex, [`${role}_digest`]: digest };
}

/** Whatever the types say, a line may hold anything: the prepare functions have to refuse it. */
function contentOf(request: Fields): never {
  return fromWireNames(request["input"]) as never;
}

/** What each party signs as far as the signatures of the line lead, and the request once there are all. */
function prepare(request: Fields, prepared: PreparedRequest): Fields {
  const given = prepared.signingOrder.map((role) => signatureIn(request, `${role}_signature`));
  const signatures: Uint8Array[] = [];
  let answer: Fields = {};
  for (const signature of [...given, null]) {
    const next = prepared.nextPayload(signatures);
    if (next === null) return { ...answer, request: prepared.request(...given.filter((bytes) => bytes !== null)) };
    answer = { ...answer, ...shown(next) };
    if (signature === null) break;
    signatures.push(signature);
  }
  return answer;
}

function signatureIn(request: Fields, name: string): Uint8Array | null {
  const given = request[name];
  return given === undefined || given === null ? null : bytes64(name, given);
}

function hexField(request: Fields, name: string): Uint8Array {
  const value = request[name];
  if (typeof value !== "string" || !/^([0-9a-f]{2})*$/.test(value)) throw new InvalidInput(name, "expected hex");
  return Uint8Array.from(Buffer.from(value, "hex"));
}

function sign(request: Fields): Fields {
  const key = LocalKey.fromSeed(bytes32("seed", request["seed"]));
  const signature = key.sign(hexField(request, "payload"));
  key.destroy();
  return { public_key: key.publicKeyHex, signature: bytesToHex(signature) };
}

function judgeSignature(request: Fields): Fields {
  const publicKey = bytes32("public_key", request["public_key"]);
  const signature = bytes64("signature", request["signature"]);
  return { valid: verifySignature(publicKey, hexField(request, "payload"), signature) };
}

interface Expected {
  readonly eventHash?: Bytes32;
  readonly anchorId?: Bytes32;
  readonly payload?: string;
}

function judgeReceipt(request: Fields): Fields {
  const receipt = Receipt.parse(request["receipt"]);
  const { eventHash, anchorId, payload } = (fromWireNames(request["expect"]) ?? {}) as Expected;
  const check = {
    trustRoot: chainOf(request),
    eventHash,
    anchorId,
    payload: payload === undefined ? undefined : hexField({ payload }, "payload"),
    requireWitnessed: request["require_witnessed"] === true,
  };
  const { failure, supersededTrustRoot, originLost, witnesses, witnessed } = inspectReceipt(receipt, check);
  return {
    verdict: failure === null ? "valid" : "invalid",
    step: failure?.step ?? null,
    code: failure?.code ?? null,
    superseded_trust_root: supersededTrustRoot,
    origin_lost: originLost,
    witnesses: witnesses.map(({ name, witnessedAt }) => ({ name, witnessed_at: witnessedAt })),
    witnessed,
  };
}

function chainOf(request: Fields): TrustRootChain {
  const documents = request["trust_roots"] as string[];
  return verifyTrustRoot({ documents, pinnedRootThk: request["pinned_root_thk"] as string });
}

function judgeTrustRoot(request: Fields): Fields {
  const { newest } = chainOf(request);
  return { verdict: "valid", version: newest.trustRoot.version, root_thk: bytesToHex(newest.rootThk) };
}

function judgeCheckpoint(request: Fields): Fields {
  const chain = chainOf(request);
  try {
    const found = verifyCheckpoint(request["checkpoint"] as string, chain);
    return {
      verdict: "valid",
      code: null,
      origin_fingerprint: found.originFingerprint,
      tree_size: found.treeSize,
      root_hash: found.rootHash,
      superseded_trust_root: found.supersededTrustRoot,
      origin_lost: found.originLost,
      cosigners: found.cosigners,
      witnesses: found.witnesses.map(({ name, witnessedAt }) => ({ name, witnessed_at: witnessedAt })),
      witnesses_needed: found.witnessesNeeded,
      witnessed: found.witnessed,
    };
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    return { verdict: "invalid", code: error.code };
  }
}

interface Seen {
  readonly version: number;
  readonly rootThk: string;
}

function judgeBundle(request: Fields): Fields {
  const { bundle } = request;
  const { eventHash, anchorId } = (fromWireNames(request["expect"]) ?? {}) as Expected;
  const pinnedRootThk = request["pinned_root_thk"] as string;
  const trust = request["trust_roots"] === undefined ? { pinnedRootThk } : { trustRoot: chainOf(request) };
  const check = {
    ...trust,
    highestSeen: fromWireNames(request["highest_seen"]) as Seen | undefined,
    eventHash,
    anchorId,
    requireWitnessed: request["require_witnessed"] === true,
  };
  const verification = inspectBundle(typeof bundle === "string" ? bundle : JSON.stringify(bundle), check);
  const { outcome, actorProven, authorisedAtAction, authorisedNow, witnessed, checks } = verification;
  const codesOf = (wanted: string): string[] =>
    checks.filter(({ result }) => result === wanted).map(({ code }) => code);
  const verdicts = {
    actor_proven: actorProven,
    authorised_at_action: authorisedAtAction,
    authorised_now: authorisedNow,
    witnessed,
  };
  return { outcome, ...verdicts, fails: codesOf("fail")[0] ?? null, not_checked: codesOf("not_checked") };
}

const OPERATIONS: ReadonlyMap<unknown, (request: Fields) => Fields> = new Map<unknown, (request: Fields) => Fields>([
  ["prepare_claim", (request) => prepare(request, prepareClaimAnchor(contentOf(request)))],
  ["prepare_grant", (request) => prepare(request, prepareGrantAnchor(contentOf(request)))],
  ["prepare_event", (request) => prepare(request, prepareEventAnchor(contentOf(request)))],
  ["prepare_revocation", (request) => prepare(request, prepareRevocation(contentOf(request)))],
  ["sign", sign],
  ["verify_signature", judgeSignature],
  ["verify_trust_root", judgeTrustRoot],
  ["verify_checkpoint", judgeCheckpoint],
  ["verify_receipt", judgeReceipt],
  ["verify_bundle", judgeBundle],
]);

/** The answer to one line. */
export function crosscheck(line: string): string {
  const request = JSON.parse(line) as Fields;
  const operate = OPERATIONS.get(request["op"]);
  if (operate === undefined) return JSON.stringify({ error: { code: "op_unknown" } });
  try {
    return JSON.stringify({ ok: operate(request) });
  } catch (error) {
    if (!(error instanceof AnchoringError)) throw error;
    const field = error instanceof InvalidInput ? { field: wireName(error.field) } : {};
    return JSON.stringify({ error: { code: error.code, ...field } });
  }
}
