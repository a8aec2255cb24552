import {
  BULK_FRAME_BYTES_MAX,
  FrameSplitter,
  LANE_PATHS,
  SEQUENCE_BYTES,
  decodePeerFrame,
} from "@event-anchoring/control-contract";
import type { PeerFrame } from "@event-anchoring/control-contract";
import type { Keylog } from "./keylog.ts";
import type { LinkListener } from "./link-proxy.ts";
import { TlsReader } from "./tls-reader.ts";

/** A frame that one node sent to another on a lane, whether it arrived or not. */
export type OnPeerFrame = (from: string, to: string, frame: PeerFrame) => void;

const END_OF_HEAD = Buffer.from("\r\n\r\n", "ascii");
const HEAD_BYTES_MAX = 16 * 1024;
const LANE_REQUESTS = Object.values(LANE_PATHS).map((path) => `GET ${path} `);

/**
 * Reads along on every connection between control planes: each frame that a node hands to the network, also those that
 * the network then loses. Unreadable connections are counted, so that silence is not taken for a good result.
 */
export class WireTap {
  readonly #keylogOf: (nodeId: string) => Keylog;
  readonly #onFrame: OnPeerFrame;
  readonly #open = new Map<TlsReader, string>();
  /** Why a connection could not be read to its end. */
  readonly unreadable: string[] = [];
  frames = 0;

  constructor(keylogOf: (nodeId: string) => Keylog, onFrame: OnPeerFrame) {
    this.#keylogOf = keylogOf;
    this.#onFrame = onFrame;
  }

  /** For one connection that `dialler` makes to `listener`. */
  listen(dialler: string, listener: string): LinkListener {
    const lane = new LaneReader((frame) => {
      this.frames += 1;
      this.#onFrame(dialler, listener, frame);
    });
    const keylog = this.#keylogOf(dialler);
    const reader = new TlsReader(
      (label, random) => keylog.secretOf(label, random),
      (plain) => lane.push(plain),
    );
    this.#open.set(reader, `${dialler} to ${listener}`);
    return {
      dialler: (chunk) => this.#attempt(reader, () => reader.pushClient(chunk)),
      listener: (chunk) => this.#attempt(reader, () => reader.pushServer(chunk)),
    };
  }

  /** Reads what is left. */
  finish(): void {
    for (const [reader, name] of this.#open) {
      this.#attempt(reader, () => reader.read());
      if (reader.isBehind) this.unreadable.push(`${name}: its secret never came`);
    }
  }

  /** A reader that fails once is not used further. */
  #attempt(reader: TlsReader, read: () => void): void {
    const name = this.#open.get(reader);
    if (name === undefined) return;
    try {
      read();
    } catch (error) {
      this.#open.delete(reader);
      this.unreadable.push(`${name}: ${String(error)}`);
    }
  }
}

/** The dialler's side of a lane: an HTTP upgrade, the signed hello, then frames. Other requests are passed over. */
class LaneReader {
  readonly #onFrame: (frame: PeerFrame) => void;
  readonly #splitter = new FrameSplitter(SEQUENCE_BYTES + BULK_FRAME_BYTES_MAX);
  #head: Buffer | null = Buffer.alloc(0);
  #isLane = false;
  #hasHello = false;

  constructor(onFrame: (frame: PeerFrame) => void) {
    this.#onFrame = onFrame;
  }

  push(plain: Uint8Array): void {
    if (this.#head === null) {
      if (this.#isLane) this.#take(plain);
      return;
    }
    this.#head = Buffer.concat([this.#head, plain]);
    const end = this.#head.indexOf(END_OF_HEAD);
    if (end < 0 && this.#head.length < HEAD_BYTES_MAX) return;
    const head = this.#head;
    this.#head = null;
    const text = head.toString("latin1", 0, Math.max(end, 0));
    this.#isLane = LANE_REQUESTS.some((request) => text.startsWith(request));
    if (this.#isLane) this.#take(head.subarray(end + END_OF_HEAD.length));
  }

  #take(bytes: Uint8Array): void {
    for (const frame of this.#splitter.push(bytes)) {
      if (!this.#hasHello) this.#hasHello = true;
      else if (frame.length > SEQUENCE_BYTES) this.#onFrame(decodePeerFrame(frame.subarray(SEQUENCE_BYTES)));
    }
  }
}
