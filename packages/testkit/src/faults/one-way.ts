import type { Socket } from "node:net";

/** What is done to all bytes that travel from one node to another. */
export interface OneWayFaults {
  /** Nothing arrives. What is sent waits and arrives late, as after a partition of a network that loses packets. */
  readonly isHeld: boolean;
  /** Everything arrives this much later; order is kept. */
  readonly delayMs: number;
  /** Null: as fast as it comes. */
  readonly bytesPerSecond: number | null;
}

export const NO_FAULTS: OneWayFaults = { isHeld: false, delayMs: 0, bytesPerSecond: null };

/** Beyond this the sender is not read any more, as a full receive window would have it. */
const WAITING_BYTES_MAX = 1024 * 1024;
const SLOW_PIECE_BYTES = 2048;

/** How a sender ended: by closing its side, or so that the other side sees a reset. */
type Ending = "closed" | "reset";

interface Parcel {
  readonly content: Uint8Array | Ending;
  readonly dueMs: number;
}

/** Bytes of one connection in one direction: taken from a socket, handed to another when the faults allow it. */
export class OneWay {
  readonly #source: Socket;
  readonly #waiting: Parcel[] = [];
  #waitingBytes = 0;
  #goal: Socket | null = null;
  #faults: OneWayFaults;
  #timer: NodeJS.Timeout | null = null;
  #lastDueMs = 0;
  #isGoalFull = false;
  #isDestroyed = false;

  /**
   * @param onBytes what the source has sent, before anything happens to it
   * @param onWanted there is something to deliver, and nothing to deliver it to yet
   */
  constructor(
    source: Socket,
    faults: OneWayFaults,
    on: { readonly bytes: (chunk: Uint8Array) => void; readonly wanted: () => void },
  ) {
    this.#source = source;
    this.#faults = faults;
    source.on("data", (chunk: Buffer) => {
      on.bytes(chunk);
      this.#take(chunk);
      if (this.#goal === null && !this.#faults.isHeld) on.wanted();
    });
    source.on("end", () => this.#wait("closed", 0));
    source.on("error", () => this.#wait("reset", 0));
  }

  /** Whether anything waits that could be delivered now if the other end were connected. */
  get isWanting(): boolean {
    return this.#goal === null && !this.#faults.isHeld && this.#waiting.length > 0;
  }

  deliverTo(goal: Socket): void {
    this.#goal = goal;
    goal.on("drain", () => {
      this.#isGoalFull = false;
      this.#deliver();
    });
    this.#deliver();
  }

  set faults(faults: OneWayFaults) {
    this.#faults = faults;
    this.#deliver();
  }

  destroy(): void {
    this.#isDestroyed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#waiting.length = 0;
  }

  #take(chunk: Uint8Array): void {
    const { bytesPerSecond } = this.#faults;
    if (bytesPerSecond === null) this.#wait(chunk, 0);
    else {
      for (let from = 0; from < chunk.length; from += SLOW_PIECE_BYTES) {
        const piece = chunk.subarray(from, from + SLOW_PIECE_BYTES);
        this.#wait(piece, (piece.length / bytesPerSecond) * 1000);
      }
    }
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.#source.pause();
  }

  #wait(content: Uint8Array | Ending, transferMs: number): void {
    const nowMs = performance.now();
    const dueMs = Math.max(nowMs + this.#faults.delayMs, this.#lastDueMs) + transferMs;
    this.#lastDueMs = dueMs;
    this.#waiting.push({ content, dueMs });
    if (typeof content !== "string") this.#waitingBytes += content.length;
    this.#deliver();
  }

  #deliver(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (;;) {
      const goal = this.#goal;
      const [next] = this.#waiting;
      if (goal === null || next === undefined) break;
      if (this.#isDestroyed || this.#faults.isHeld || this.#isGoalFull) break;
      const waitMs = next.dueMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#deliver(), waitMs);
        return;
      }
      this.#waiting.shift();
      this.#hand(goal, next.content);
    }
    if (this.#waitingBytes <= WAITING_BYTES_MAX / 2 && this.#source.isPaused()) this.#source.resume();
  }

  #hand(goal: Socket, content: Uint8Array | Ending): void {
    if (content === "closed") goal.end();
    else if (content === "reset") resetSocket(goal);
    else {
      this.#waitingBytes -= content.length;
      if (!goal.destroyed) this.#isGoalFull = !goal.write(content);
    }
  }
}

/** The other end sees a reset. A socket that is closing its side cannot be reset: Node would never let go of it. */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
