/** What a handler is: a function of a parsed request to an answer. It sees neither Express nor sockets. */
import type { LimitSettings, Route } from "@event-anchoring/api-contract";
import type { CallContext } from "@event-anchoring/control-contract";
import type { Crypto, OriginFingerprint } from "@event-anchoring/protocol";
import type { Deadline } from "./deadline.ts";
import type { KeyTable } from "./key-table.ts";
import type { NodeProbe } from "./node-probe.ts";
import type { Caller, Clock, ControlPlane, Logger } from "./ports.ts";
import type { AnchorReads } from "./reads-port.ts";
import type { Work } from "./request-cost.ts";
import type { TrustRootReader } from "./trust-roots.ts";
import type { Headers } from "./respond.ts";

/** What a handler needs to read. */
export interface ReadDependencies {
  readonly controlPlane: Pick<ControlPlane, "read">;
  readonly reads: AnchorReads;
  readonly trustRoots: TrustRootReader;
  readonly crypto: Crypto;
  readonly clock: Clock;
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
  /** Of this node: said by /healthz also while the control plane is gone. */
  readonly node: {
    readonly nodeId: string;
    readonly clusterId: string;
    readonly originFingerprint: OriginFingerprint;
    readonly serviceVersion: string;
  };
}

export interface HandlerRequest {
  readonly route: Route;
  /** Its id, and its span if it is traced: handed on with every write. */
  readonly call: CallContext;
  /** null on public routes. */
  readonly caller: Caller | null;
  readonly deadline: Deadline;
  /** The raw text of path parameters, as the router decoded it. Attacker-controlled. */
  readonly pathParameters: Readonly<Record<string, unknown>>;
  /** Without the question mark. Attacker-controlled. */
  readonly search: string;
  /** The text of the body; "" if the route takes none. Attacker-controlled. */
  readonly bodyText: string;
  /** `Prefer: respond-async`, on routes that honour it. */
  readonly isAsync: boolean;
  /** Whether the client would rather have text/plain than JSON. */
  readonly prefersText: boolean;
  /** Says what the request costs its key, once that is known: also if nothing comes of it. */
  readonly spend: (work: Work) => void;
}

export type HandlerAnswer = {
  readonly status: number;
  readonly headers?: Headers;
} & (
  | { readonly json: object }
  | { readonly text: string }
  | { readonly bytes: Uint8Array; readonly mediaType: string }
);

export type Handler = (request: HandlerRequest, dependencies: HandlerDependencies) => Promise<HandlerAnswer>;

/** A handler of a costly read, which runs beside the process's own loop. */
export type ReadHandler = (request: HandlerRequest, dependencies: ReadDependencies) => Promise<HandlerAnswer>;

/** The caller of a route with a scope. */
export function callerOf(request: HandlerRequest): Caller {
  if (request.caller === null) throw new Error(`route ${request.route.id} has no caller`);
  return request.caller;
}
