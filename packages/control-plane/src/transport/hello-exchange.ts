/** The signed first frame each way: made, read and judged. control-contract's README, "Hello". */
import {
  FIRST_FRAME_SEQUENCE,
  LANE_PATHS,
  decodeHello,
  decodeHelloAnswer,
  decodeSignedFrame,
  encodeHello,
  encodeHelloAnswer,
  encodeSignedFrame,
  signNodeRequest,
  signResponse,
  verifyNodeRequest,
  verifyResponse,
} from "@event-anchoring/control-contract";
import type {
  AuthContext,
  AuthRefusalCode,
  CertificateIdentity,
  Hello,
  HelloAnswer,
  HelloRefusal,
  HelloRefusalCode,
  Lane,
} from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { DecodeError, equalBytes } from "@event-anchoring/protocol";
import { claimsTo } from "./transport-context.ts";
import type { TransportContext } from "./transport-context.ts";

const ACCEPTED = 200;
const REFUSED = 403;

/** What the refused peer is told about a failed Cluster-auth check. Details go to our log alone. */
const TOLD: Readonly<Record<AuthRefusalCode, HelloRefusalCode>> = {
  malformed: "bad_signature",
  wrong_identity: "bad_signature",
  unknown_node: "unknown_node",
  wrong_cluster: "wrong_cluster",
  wrong_target: "bad_signature",
  stale_incarnation: "stale_incarnation",
  replayed: "replayed",
  clock_skew: "bad_signature",
  body_mismatch: "bad_signature",
  bad_signature: "bad_signature",
  not_allowed: "bad_signature",
};

function contextOf(lane: Lane, exporter: Uint8Array, body: Uint8Array): AuthContext {
  return { method: "GET", path: LANE_PATHS[lane], exporter, bodyDigest: nodeCrypto.sha256(body) };
}

export interface MadeHello {
  readonly header: string;
  readonly frame: Uint8Array;
}

/** The dialling side's first frame. Null while this node has no hello to give. */
export function makeHello(context: TransportContext, to: string, lane: Lane, exporter: Uint8Array): MadeHello | null {
  const hello = context.options.hello();
  if (hello === null) return null;
  const body = encodeHello(hello);
  const { authSigner } = context.options.self;
  const claims = claimsTo(context, to, FIRST_FRAME_SEQUENCE);
  const header = signNodeRequest(
    claims,
    contextOf(lane, exporter, body),
    (message) => authSigner.sign(message),
    nodeCrypto.sha256,
  );
  return { header, frame: encodeSignedFrame(header, body) };
}

export type HelloJudgement =
  | { readonly accepted: true; readonly hello: Hello; readonly own: Hello; readonly header: string }
  /** `reason` is for the log and the counters; `refusal` is what the peer is told. */
  | {
      readonly accepted: false;
      readonly reason: string;
      readonly detail: string;
      readonly refusal: HelloRefusal;
      readonly header: string;
    };

/** Judges a first frame. Attacker-controlled: the peer has a certificate of this cluster, and nothing more is known. */
export function judgeHelloFrame(
  context: TransportContext,
  lane: Lane,
  tlsIdentity: CertificateIdentity,
  exporter: Uint8Array,
  frame: Uint8Array,
): HelloJudgement {
  const { options } = context;
  const parts = attempt(() => decodeSignedFrame(frame));
  const hello = parts === null ? null : attempt(() => decodeHello(parts.body));
  const refuse = (code: AuthRefusalCode, detail: string, header: string): HelloJudgement => {
    const refusal = { accepted: false, code: TOLD[code], detail: "refused", ...shownWith(code) } as const;
    return { accepted: false, reason: code, detail, refusal, header };
  };
  const shownWith = (code: AuthRefusalCode): Pick<HelloRefusal, "trustRootChain" | "ownWord"> => {
    // Trust roots are public, and prove themselves: the version need not be what that node signed.
    if (code === "unknown_node") return { trustRootChain: options.trustRootsAfter(hello?.trustRootVersion ?? 0) };
    const ownWord = code === "stale_incarnation" ? options.ownWordOf(tlsIdentity.id) : null;
    return ownWord === null ? {} : { ownWord };
  };
  if (parts === null) return refuse("malformed", "not a signed frame", "");
  const { header, body } = parts;
  const expected = {
    clusterId: options.self.clusterId,
    self: options.self.nodeId,
    tlsIdentity,
    lastSequence: FIRST_FRAME_SEQUENCE - 1,
    context: contextOf(lane, exporter, body),
  };
  const { incarnations } = context;
  const verifier = { authKeyOf: options.authKeyOf, incarnations, ...nodeCrypto };
  const verdict = verifyNodeRequest(header, expected, verifier);
  if (!verdict.ok) return refuse(verdict.code, verdict.detail, header);
  if (hello === null) return refuse("malformed", "not a hello", header);
  const { from, incarnation } = verdict.header;
  if (!isHelloOf(hello, from, options.self.clusterId) || hello.progress.incarnation !== incarnation) {
    return refuse("malformed", "the hello contradicts its header", header);
  }
  if (verdict.header.sequence !== FIRST_FRAME_SEQUENCE) return refuse("replayed", "not a first frame", header);
  const own = options.hello();
  if (own === null) {
    const refusal = { accepted: false, code: "not_ready", detail: "starting" } as const;
    return { accepted: false, reason: refusal.code, detail: refusal.detail, refusal, header };
  }
  const judged = options.judgeHello(hello);
  if (judged.accepted) return { accepted: true, hello, own, header };
  return { accepted: false, reason: judged.code, detail: judged.detail, refusal: judged, header };
}

/** The listening side's first frame. */
export function makeHelloAnswer(
  context: TransportContext,
  to: string,
  lane: Lane,
  exporter: Uint8Array,
  judgement: HelloJudgement,
): Uint8Array {
  const answer: HelloAnswer = judgement.accepted ? { accepted: true, hello: judgement.own } : judgement.refusal;
  const body = encodeHelloAnswer(answer);
  const status = answer.accepted ? ACCEPTED : REFUSED;
  const claims = claimsTo(context, to, FIRST_FRAME_SEQUENCE);
  const sealed = contextOf(lane, exporter, body);
  const sign = (message: Uint8Array): Uint8Array => context.options.self.authSigner.sign(message);
  return encodeSignedFrame(signResponse(claims, status, judgement.header, sealed, sign, nodeCrypto.sha256), body);
}

export type AnswerJudgement =
  | { readonly outcome: "accepted"; readonly hello: Hello }
  /** The peer refuses us, authentically. */
  | { readonly outcome: "refused"; readonly refusal: HelloRefusal }
  /** We refuse the peer, or cannot tell who answered. */
  | { readonly outcome: "failed"; readonly reason: string; readonly detail: string };

/** Judges the answer to our hello. Attacker-controlled until its signature is verified. */
export function judgeHelloAnswer(
  context: TransportContext,
  from: string,
  lane: Lane,
  exporter: Uint8Array,
  own: MadeHello,
  frame: Uint8Array,
): AnswerJudgement {
  const { options } = context;
  const fail = (reason: string, detail: string): AnswerJudgement => ({ outcome: "failed", reason, detail });
  const authKey = options.authKeyOf(from);
  if (authKey === null) return fail("unknown_node", "the trust root in force does not know this peer");
  const parts = attempt(() => decodeSignedFrame(frame));
  const answer = parts === null ? null : attempt(() => decodeHelloAnswer(parts.body));
  if (parts === null || answer === null) return fail("malformed", "not an answer to a hello");
  const expected = {
    clusterId: options.self.clusterId,
    from,
    to: options.self.nodeId,
    status: answer.accepted ? ACCEPTED : REFUSED,
    sequence: FIRST_FRAME_SEQUENCE,
    requestHeader: own.header,
    context: contextOf(lane, exporter, parts.body),
  };
  const verdict = verifyResponse(parts.header, expected, authKey, nodeCrypto.ed25519Verify, nodeCrypto.sha256);
  if (!verdict.ok) return fail(verdict.code, verdict.detail);
  if (!answer.accepted) return { outcome: "refused", refusal: answer };
  const { hello } = answer;
  const { incarnation } = verdict.header;
  if (!isHelloOf(hello, from, options.self.clusterId) || hello.progress.incarnation !== incarnation) {
    return fail("malformed", "the hello contradicts its header");
  }
  if (context.incarnations.isStale(from, incarnation)) return fail("stale_incarnation", `incarnation ${incarnation}`);
  const ownVerdict = options.judgeHello(hello);
  if (!ownVerdict.accepted) return fail(ownVerdict.code, ownVerdict.detail);
  return { outcome: "accepted", hello };
}

function isHelloOf(hello: Hello, nodeId: string, clusterId: Uint8Array): boolean {
  return hello.nodeId === nodeId && equalBytes(hello.clusterId, clusterId);
}

/** Null for bytes that a decoder refuses; every other error is ours and goes on. */
function attempt<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}
