import type { Duplex } from "node:stream";
import {
  BULK_FRAME_BYTES_MAX,
  CONTROL_FRAME_BYTES_MAX,
  FRAME_HEADER_BYTES,
  FrameSizeError,
  FrameSplitter,
  SEQUENCE_BYTES,
  decodePeerFrame,
} from "@event-anchoring/control-contract";
import type { Lane, PeerFrame } from "@event-anchoring/control-contract";
import { DecodeError } from "@event-anchoring/protocol";
import type { Clock } from "@event-anchoring/telemetry";
import type { ConnectionEnd } from "./network-types.ts";

const FRAME_BYTES_MAX: Readonly<Record<Lane, number>> = {
  control: CONTROL_FRAME_BYTES_MAX + SEQUENCE_BYTES,
  bulk: BULK_FRAME_BYTES_MAX + SEQUENCE_BYTES,
};
/** The dialling side sends a keepalive every second. */
const SILENT_MS = 5000;

export interface InboundLaneOptions {
  readonly socket: Duplex;
  readonly nodeId: string;
  readonly lane: Lane;
  readonly clock: Clock;
  /** Unix milliseconds: the session ends when the peer's certificate does. */
  readonly expiresMs: number;
  readonly peerIncarnation: number;
  readonly onFrame: (frame: PeerFrame, bytes: number) => void;
  readonly onEnd: (reason: ConnectionEnd, detail: string) => void;
}

/**
 * The receiving end of one lane, after the handshake. Every frame must be next in sequence and decode; the first that
 * does not ends the session. Ends once, by `end` or by the socket, and calls onEnd once.
 */
export class InboundLane {
  readonly nodeId: string;
  readonly lane: Lane;
  readonly peerIncarnation: number;
  readonly #options: InboundLaneOptions;
  readonly #splitter: FrameSplitter;
  #sequence = 0;
  #keepalivesSent = 0;
  #isEnded = false;
  #lastSignOfLifeMs: number;

  constructor(options: InboundLaneOptions) {
    this.#options = options;
    this.nodeId = options.nodeId;
    this.lane = options.lane;
    this.peerIncarnation = options.peerIncarnation;
    this.#splitter = new FrameSplitter(FRAME_BYTES_MAX[options.lane]);
    this.#lastSignOfLifeMs = options.clock.monotonicMs();
    const { socket } = options;
    socket.on("data", (chunk: Buffer) => this.#onChunk(chunk));
    socket.on("error", () => this.end("connection_error", ""));
    socket.on("end", () => this.end("closed_by_peer", ""));
    socket.on("close", () => this.end("closed_by_peer", ""));
  }

  sweep(): void {
    const { clock, expiresMs } = this.#options;
    if (clock.wallMs() >= expiresMs) this.end("certificate_expired", "");
    else if (clock.monotonicMs() - this.#lastSignOfLifeMs > SILENT_MS) this.end("silent", "");
  }

  end(reason: ConnectionEnd, detail: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#options.socket.destroy();
    this.#options.onEnd(reason, detail);
  }

  #onChunk(chunk: Uint8Array): void {
    if (this.#isEnded) return;
    this.#lastSignOfLifeMs = this.#options.clock.monotonicMs();
    for (const body of this.#split(chunk)) {
      // A frame's receiver may end this session; nothing of it is delivered after that.
      if (this.#isEnded) return;
      this.#take(body);
    }
  }

  #split(chunk: Uint8Array): readonly Uint8Array[] {
    try {
      return this.#splitter.push(chunk);
    } catch (error) {
      if (!(error instanceof FrameSizeError)) throw error;
      this.end("bad_frame", error.message);
      return [];
    }
  }

  #take(body: Uint8Array): void {
    this.#sequence++;
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    if (body.length < SEQUENCE_BYTES || view.getBigUint64(0) !== BigInt(this.#sequence)) {
      return this.end("bad_sequence", `expected frame ${this.#sequence}`);
    }
    if (body.length === SEQUENCE_BYTES) return this.#answerKeepalive();
    const frame = this.#decode(body.subarray(SEQUENCE_BYTES));
    if (frame !== null) this.#options.onFrame(frame, body.length);
  }

  #decode(bytes: Uint8Array): PeerFrame | null {
    try {
      return decodePeerFrame(bytes);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.end("bad_frame", `${error.code}: ${error.message}`);
      return null;
    }
  }

  #answerKeepalive(): void {
    const { socket } = this.#options;
    // A peer that reads nothing gets no answers piled up for it.
    if (socket.writableLength > 0) return;
    this.#keepalivesSent++;
    const answer = Buffer.alloc(FRAME_HEADER_BYTES + SEQUENCE_BYTES);
    answer.writeUInt32BE(SEQUENCE_BYTES, 0);
    answer.writeBigUInt64BE(BigInt(this.#keepalivesSent), FRAME_HEADER_BYTES);
    socket.write(answer);
  }
}
