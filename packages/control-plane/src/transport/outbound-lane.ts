import type { TLSSocket } from "node:tls";
import { FRAME_HEADER_BYTES, FrameSizeError, FrameSplitter, SEQUENCE_BYTES } from "@event-anchoring/control-contract";
import type { Lane } from "@event-anchoring/control-contract";
import type { TimerClock } from "../ports/environment.ts";
import type { ConnectionEnd } from "./network-types.ts";

/** What one lane may hold before it drops: a follower that reads nothing must not cost memory. */
const OUTBOX_BYTES_MAX: Readonly<Record<Lane, number>> = { control: 8 * 1024 * 1024, bulk: 32 * 1024 * 1024 };
const OUTBOX_FRAMES_MAX: Readonly<Record<Lane, number>> = { control: 8192, bulk: 2048 };
const KEEPALIVE_MS = 1000;
/** A lane whose peer neither answers keepalives nor takes bytes for this long is dead. */
const SILENT_MS = 5000;
/** A peer that does not close its side of a finished lane within this long is waited for no more. */
const FINISH_MS = 250;
/** Frames are joined up to about this much: each write that completes shows that the peer takes bytes. */
const WRITE_BYTES = 256 * 1024;

export interface OutboundLaneOptions {
  readonly socket: TLSSocket;
  readonly lane: Lane;
  readonly clock: TimerClock;
  /** Unix milliseconds: the session ends when the peer's certificate does. */
  readonly expiresMs: number;
  readonly peerIncarnation: number;
  readonly onEnd: (reason: ConnectionEnd, framesDropped: number) => void;
  readonly onBytesSent: (bytes: number) => void;
}

/**
 * The sending end of one lane, after the handshake. Frames of one turn, or up to a flush in it, are one write; while
 * the socket is full, frames wait in the outbox; when that is full they are refused. The peer sends nothing but
 * keepalives.
 *
 * Ends once, by `end` or by the socket, and calls onEnd once.
 */
export class OutboundLane {
  readonly peerIncarnation: number;
  readonly #options: OutboundLaneOptions;
  readonly #splitter = new FrameSplitter(SEQUENCE_BYTES);
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #sequence = 0;
  #answersHeard = 0;
  #isFlushDue = false;
  #isBlocked = false;
  #isEnded = false;
  #lastKeepaliveMs: number;
  #lastSignOfLifeMs: number;

  constructor(options: OutboundLaneOptions) {
    this.#options = options;
    this.peerIncarnation = options.peerIncarnation;
    this.#lastKeepaliveMs = options.clock.monotonicMs();
    this.#lastSignOfLifeMs = this.#lastKeepaliveMs;
    const { socket } = options;
    socket.on("data", (chunk: Buffer) => this.#onChunk(chunk));
    socket.on("drain", () => this.#onDrain());
    socket.on("error", () => this.end("connection_error"));
    socket.on("end", () => this.end("closed_by_peer"));
    socket.on("close", () => this.end("closed_by_peer"));
  }

  /** False: the outbox is full, or the lane has ended; the frame was not taken. */
  send(body: Uint8Array): boolean {
    const { lane, socket } = this.#options;
    if (this.#isEnded || this.#queue.length >= OUTBOX_FRAMES_MAX[lane]) return false;
    const held = this.#queuedBytes + socket.writableLength;
    if (held + body.length > OUTBOX_BYTES_MAX[lane]) return false;
    this.#queue.push(body);
    this.#queuedBytes += body.length;
    this.#scheduleFlush();
    return true;
  }

  /** Writes what waits in the outbox, as far as the socket takes it. */
  flush(): void {
    while (!this.#isEnded && !this.#isBlocked && this.#queue.length > 0) {
      const bytes = this.#takeWrite();
      this.#options.onBytesSent(bytes.length);
      this.#isBlocked = !this.#options.socket.write(bytes, () => this.#noteLife());
    }
  }

  /** Called every half second or so: keepalive, silence, certificate. */
  sweep(): void {
    const { clock, expiresMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (clock.wallMs() >= expiresMs) this.end("certificate_expired");
    else if (nowMs - this.#lastSignOfLifeMs > SILENT_MS) this.end("silent");
    else if (nowMs - this.#lastKeepaliveMs >= KEEPALIVE_MS && !this.#isBlocked) {
      this.#lastKeepaliveMs = nowMs;
      this.#queue.push(new Uint8Array(0));
      this.#scheduleFlush();
    }
  }

  end(reason: ConnectionEnd): void {
    if (this.#isEnded) return;
    this.#options.socket.destroy();
    this.#noteEnd(reason);
  }

  /**
   * Ends the lane, and resolves when the peer has received what was written and has closed its side, or after
   * FINISH_MS. A socket that is destroyed at once may reset the connection, and the peer would lose the last frames.
   */
  async finish(reason: ConnectionEnd): Promise<void> {
    if (this.#isEnded) return;
    this.flush();
    const { socket, clock } = this.#options;
    const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
    const timer = clock.startTimer(FINISH_MS, () => socket.destroy());
    socket.end();
    this.#noteEnd(reason);
    await closed;
    timer.cancel();
  }

  #noteEnd(reason: ConnectionEnd): void {
    this.#isEnded = true;
    const dropped = this.#queue.length;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#options.onEnd(reason, dropped);
  }

  #scheduleFlush(): void {
    if (this.#isFlushDue || this.#isBlocked) return;
    this.#isFlushDue = true;
    this.#options.clock.afterTurn(() => {
      this.#isFlushDue = false;
      this.flush();
    });
  }

  /** The next frames of the queue as one write: u32 length ‖ u64 sequence ‖ body, for each. */
  #takeWrite(): Uint8Array {
    let count = 0;
    let length = 0;
    for (const body of this.#queue) {
      if (length >= WRITE_BYTES) break;
      count++;
      length += FRAME_HEADER_BYTES + SEQUENCE_BYTES + body.length;
    }
    const frames = count === this.#queue.length ? this.#queue : this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    const bytes = Buffer.allocUnsafe(length);
    let offset = 0;
    for (const body of frames) {
      this.#sequence++;
      offset = bytes.writeUInt32BE(SEQUENCE_BYTES + body.length, offset);
      offset = bytes.writeUInt32BE(Math.floor(this.#sequence / 0x1_0000_0000), offset);
      offset = bytes.writeUInt32BE(this.#sequence % 0x1_0000_0000, offset);
      bytes.set(body, offset);
      offset += body.length;
      this.#queuedBytes -= body.length;
    }
    return bytes;
  }

  #noteLife(): void {
    this.#lastSignOfLifeMs = this.#options.clock.monotonicMs();
  }

  #onDrain(): void {
    this.#isBlocked = false;
    this.#noteLife();
    this.#scheduleFlush();
  }

  /** Keepalives, with a sequence of their own. Anything else is not part of the protocol. */
  #onChunk(chunk: Uint8Array): void {
    if (this.#isEnded) return;
    try {
      for (const body of this.#splitter.push(chunk)) {
        this.#answersHeard++;
        const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
        const isNext = body.length === SEQUENCE_BYTES && view.getBigUint64(0) === BigInt(this.#answersHeard);
        if (!isNext) return this.end("bad_sequence");
      }
      this.#noteLife();
    } catch (error) {
      if (!(error instanceof FrameSizeError)) throw error;
      this.end("bad_frame");
    }
  }
}
