/** The network as the rest of the node sees it. The simulator implements the same PeerNetwork. */
import type { Signer } from "@event-anchoring/node-crypto";
import type { Environment } from "../ports/environment.ts";
import type { Hello, HelloRefusal, HelloVerdict, Lane, OwnWord, PeerFrame } from "@event-anchoring/control-contract";

export interface PeerAddress {
  readonly nodeId: string;
  readonly host: string;
  readonly port: number;
}

export interface PeerDown {
  /** Why the connection ended; a closed set, see ConnectionEnd. */
  readonly reason: ConnectionEnd;
  /**
   * True: the peer's host has refused every new connection for REFUSED_AFTER_MS, so no process listens there any more.
   * It is what lets a follower campaign before the election timeout.
   */
  readonly refusedReconnects: boolean;
}

/** Why a connection ended. Also a metric label, so the set is closed. */
export type ConnectionEnd =
  | "closed_by_peer"
  | "connection_error"
  | "certificate_expired"
  | "newer_incarnation"
  | "replaced"
  | "disconnected"
  | "silent"
  | "bad_sequence"
  | "bad_frame"
  | "shutdown";

/** The network as a session sees it. */
export interface SessionNetwork {
  send(to: string, lane: Lane, frame: PeerFrame): boolean;
  /** Frames sent in this turn leave now, not at its end. */
  flush(): void;
  isConnected(nodeId: string): boolean;
  disconnect(nodeId: string, reason: string): void;
}

/** Who makes a unary call, as far as it was proved. */
export type UnaryIdentity =
  | { readonly kind: "node"; readonly nodeId: string }
  | { readonly kind: "operator"; readonly operatorId: string }
  /** A certificate of this cluster and nothing more. */
  | { readonly kind: "certificate"; readonly role: string; readonly id: string };

export interface UnaryRequest {
  readonly from: UnaryIdentity;
  readonly body: Uint8Array;
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal;
}

export type UnaryAnswer =
  | { readonly status: number; readonly body: Uint8Array }
  | { readonly status: number; readonly stream: AsyncIterable<Uint8Array> };

/** A handler that throws is answered 500 with an empty body, and logged. */
export type UnaryHandler = (request: UnaryRequest) => Promise<UnaryAnswer>;

export interface TlsFiles {
  /** PEM; only authorities whose key the trust root pins are used. */
  readonly caFile: string;
  readonly certificateFile: string;
  /** PKCS #8 PEM, mode 0600 or stricter. */
  readonly keyFile: string;
}

export interface PeerNetworkOptions {
  readonly self: {
    readonly nodeId: string;
    /** 32 bytes. */
    readonly clusterId: Uint8Array;
    readonly authSigner: Signer;
    /** Higher at every start. A node that takes a new one opens a new network. */
    readonly incarnation: number;
  };
  readonly tls: TlsFiles;
  /** Port 0 lets the system choose; see PeerNetwork.address. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly peers: readonly PeerAddress[];
  /**
   * This node's hello, asked for at every handshake; `nodeId`, `clusterId` and `incarnation` are those of `self`. Null
   * while the node has none: it then dials no peer, and refuses a peer that dials it as `not_ready`.
   */
  readonly hello: () => Hello | null;
  /**
   * Judges a peer's hello in either direction, after its identity, signature and incarnation (of this process's memory)
   * were found good. A refusal is sent to the peer, or ends our own dialling until the next back-off.
   */
  readonly judgeHello: (peer: Hello) => HelloVerdict;
  /** A peer's authentic refusal of our hello. `amnesia` and `retired` are about this node's right to go on. */
  readonly onHelloRefused: (peer: string, refusal: HelloRefusal) => void;
  /** Something that a node refused for an older incarnation has signed in a later one; null: nothing is held. */
  readonly ownWordOf: (nodeId: string) => OwnWord | null;
  /**
   * Auth public key of a node in the trust root in force, or null: such a node is refused as `unknown_node`. Give the
   * key of a retired node too, and let judgeHello answer `retired`.
   */
  readonly authKeyOf: (nodeId: string) => Uint8Array | null;
  /** Later trust roots than that version: attached to refusals of nodes that may have missed a rotation. */
  readonly trustRootsAfter: (version: number) => readonly string[];
  /** Versions named in our headers. */
  readonly trustRootVersion: () => number;
  /** SHA-256 of the SubjectPublicKeyInfo of each accepted CA, from the trust root in force. */
  readonly caSpkiPins: () => readonly Uint8Array[];
  /** In order per peer and lane. May come before onPeerUp: inbound lanes do not wait for outbound ones. */
  readonly onFrame: (from: string, lane: Lane, frame: PeerFrame) => void;
  /** Our control lane to the peer is open: send() reaches it. */
  readonly onPeerUp: (nodeId: string, hello: Hello) => void;
  /**
   * Called when our control lane to a peer ends; and once more, with refusedReconnects, when its host has refused new
   * connections for REFUSED_AFTER_MS.
   */
  readonly onPeerDown: (nodeId: string, down: PeerDown) => void;
  /** By path of UNARY_CALLS. A call without a handler is answered 404. */
  readonly unary: Readonly<Record<string, UnaryHandler>>;
  readonly environment: Environment;
}

export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface CallAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

/**
 * Why a call has no answer. After connection_lost, timeout and aborted it may have been carried out.
 * `not_authentic`: the answer was not signed by that node for this call.
 */
export type CallErrorCode =
  | "not_a_peer"
  | "connection_refused"
  | "connection_lost"
  | "not_authentic"
  | "too_large"
  | "timeout"
  | "aborted"
  | "closed";

export class PeerCallError extends Error {
  readonly code: CallErrorCode;
  constructor(code: CallErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "PeerCallError";
    this.code = code;
  }
}

export interface PeerNetwork {
  /** Resolves when it listens; dialling goes on by itself. @throws TlsMaterialError, or the listener's error */
  start(): Promise<void>;
  /** Ends every session and call. Resolves when every socket is closed. */
  close(): Promise<void>;
  /** Where it listens. Only after start(). */
  address(): { readonly host: string; readonly port: number };
  /**
   * Never blocks. False: not connected, or the outbox is full, or the frame is above BULK_FRAME_BYTES_MAX; it was
   * dropped and counted. True is no promise of delivery. Frames of one lane arrive in order or the session ends; a
   * frame above CONTROL_FRAME_BYTES_MAX takes the bulk lane whichever lane was asked for.
   */
  send(to: string, lane: Lane, frame: PeerFrame): boolean;
  /** Frames wait for the end of their turn, to be one write. This writes them now: the rest of the turn may be long. */
  flush(): void;
  /** Our control lane to that peer is open. */
  isConnected(nodeId: string): boolean;
  /** A unary call. Any status is an answer. @throws PeerCallError */
  call(to: string, path: string, body: Uint8Array | null, options: CallOptions): Promise<CallAnswer>;
  /**
   * As call, for answers too long to hold. The stream throws PeerCallError if it breaks off, or if its signature, which
   * comes last, is not good: until the stream has ended nothing of it is authentic.
   */
  callStream(
    to: string,
    path: string,
    body: Uint8Array | null,
    options: CallOptions,
  ): Promise<{ readonly status: number; readonly stream: AsyncIterable<Uint8Array> }>;
  /** Ends all sessions with a node. Peers are dialled again, and judged again. */
  disconnect(nodeId: string, reason: string): void;
  /** Replaces the list of peers to dial; sessions with others end. */
  setPeers(peers: readonly PeerAddress[]): void;
  /** Takes up new TLS files now; it also looks by itself every TLS_RELOAD_MS. @throws TlsMaterialError, the old stay */
  reloadTls(): Promise<void>;
  /** When the certificate in use expires, Unix milliseconds; null before start(). */
  tlsExpiresMs(): number | null;
  counters(): readonly TransportCounter[];
}

/** One number of the transport, for the metrics page and for tests. */
export interface TransportCounter {
  readonly event: TransportEvent;
  /** A configured peer, or "" for others: labels stay bounded. */
  readonly peer: string;
  /** A lane, or a reason of a closed set, or "". */
  readonly reason: string;
  readonly value: number;
}

export type TransportEvent =
  | "session_opened"
  | "session_ended"
  | "dial_failed"
  | "hello_refused_by_peer"
  | "inbound_refused"
  | "connection_dropped"
  | "frame_sent"
  | "frame_received"
  | "frame_dropped"
  | "bytes_sent"
  | "bytes_received"
  | "unary_answered"
  | "tls_reload_failed";

/** How long reconnects must have been refused before a follower is told: two or three dials, less than a start. */
export const REFUSED_AFTER_MS = 60;
/** How often the TLS files are checked: three calls of stat. */
export const TLS_RELOAD_MS = 5000;
