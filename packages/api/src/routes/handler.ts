/** What a handler is: a function of a parsed request to an answer. It sees neither Express nor sockets. */
import type { LimitSettings, Route } from "@event-anchoring/api-contract";
import type { CallContext } from "@event-anchoring/control-contract";
import { bytesToUtf8 } from "@event-anchoring/protocol";
import type { Crypto, OriginFingerprint } from "@event-anchoring/protocol";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import type { Caller } from "../access/auth.ts";
import type { KeyTable } from "../access/key-table.ts";
import type { Work } from "../access/request-cost.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import type { SignedState } from "../control-plane/hold-state.ts";
import type { ReadSources } from "../reading/consistent-read.ts";
import type { StatesToRead } from "../reading/node-reads.ts";
import type { TrustRootReader } from "../reading/trust-root-reader.ts";
import type { Deadline } from "../request/deadline.ts";
import type { NodeProbe } from "./node-probe.ts";

/** What a handler needs for reading. */
export interface ReadDependencies extends ReadSources {
  readonly trustRoots: TrustRootReader;
  readonly crypto: Crypto;
  readonly clock: Clock;
  /** Absent: proofs are made elsewhere. */
  readonly states?: StatesToRead;
}

/** What all handlers share. */
export interface HandlerDependencies extends ReadDependencies {
  readonly controlPlane: ControlPlane;
  readonly probe: NodeProbe;
  readonly keys: Pick<KeyTable, "isAtHand">;
  readonly logger: Logger;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly limits: LimitSettings;
  /** True from the first signal to stop: /readyz fails, everything else is still served. */
  readonly isStopping: () => boolean;
  /** This node's identity: shown by /healthz even while the control plane is gone. */
  readonly node: {
    readonly nodeId: string;
    readonly clusterId: string;
    readonly originFingerprint: OriginFingerprint;
    readonly serviceVersion: string;
  };
}

export interface HandlerRequest {
  readonly route: Route;
  /** Its id, and its span if it is traced: passed on with every write. */
  readonly call: CallContext;
  /** null on public routes, and of visits. */
  readonly caller: Caller | null;
  /** Whether it came without a key to a route that a public log opens: the answer is for everybody. */
  readonly isVisit: boolean;
  readonly deadline: Deadline;
  /** The raw text of path parameters, as the router decoded it. Attacker-controlled. */
  readonly pathParameters: Readonly<Record<string, unknown>>;
  /** Without the question mark. Attacker-controlled. */
  readonly search: string;
  /** The bytes of the body, which are UTF-8; none if the route takes none. Attacker-controlled. */
  readonly body: Uint8Array;
  /** `Prefer: respond-async`, on routes that honour it. */
  readonly isAsync: boolean;
  /** `Prefer: witnessed`, on routes that honour it. */
  readonly prefersWitnessed: boolean;
  /** Whether the client would rather have text/plain than JSON. */
  readonly prefersText: boolean;
  /** `Accept-Encoding` and `If-None-Match` as they came; "": not there. Attacker-controlled. */
  readonly acceptEncoding: string;
  readonly ifNoneMatch: string;
  /** For the proof that the request asks for: signed after it came. null: it asks for none. */
  readonly state: SignedState | null;
  /** Charges the request's cost to its key, once it is known, even if the request fails. */
  readonly spend: (work: Work) => void;
}

export type Headers = Readonly<Record<string, string>>;

export type HandlerAnswer = {
  readonly status: number;
  readonly headers?: Headers;
  /** Its receipts are under witnessed heads, as the request prefers. */
  readonly isWitnessed?: boolean;
} & (
  | { readonly json: object }
  | { readonly text: string }
  | { readonly bytes: Uint8Array; readonly mediaType: string }
);

export type Handler = (request: HandlerRequest, dependencies: HandlerDependencies) => Promise<HandlerAnswer>;

/** A handler of a costly read, which runs beside the process's own loop. */
export type ReadHandler = (request: HandlerRequest, dependencies: ReadDependencies) => Promise<HandlerAnswer>;

/** The text of the body; "" if the route takes none. Attacker-controlled. */
export function bodyTextOf({ body }: HandlerRequest): string {
  return bytesToUtf8(body);
}

/** The caller of a route with a scope. */
export function callerOf(request: HandlerRequest): Caller {
  if (request.caller === null) throw new Error(`route ${request.route.id} has no caller`);
  return request.caller;
}

/** An answer as it is sent. */
export interface MadeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly isWitnessed?: boolean;
  readonly mediaType: string;
  readonly body: Uint8Array;
}

export const JSON_MEDIA_TYPE = "application/json; charset=utf-8";

const encoder = new TextEncoder();

/** The body has a buffer of its own, so that it can change threads. */
export function madeAnswer(answer: HandlerAnswer): MadeAnswer {
  const { status, headers = {}, isWitnessed = false } = answer;
  const made = { status, headers, isWitnessed };
  if ("bytes" in answer) return { ...made, mediaType: answer.mediaType, body: answer.bytes };
  if ("text" in answer) return { ...made, mediaType: "text/plain; charset=utf-8", body: encoder.encode(answer.text) };
  return { ...made, mediaType: JSON_MEDIA_TYPE, body: encoder.encode(JSON.stringify(answer.json)) };
}
