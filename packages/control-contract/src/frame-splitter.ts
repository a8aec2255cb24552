/** Framing of every long-lived connection: u32 big-endian length of the body, then the body. */

export const FRAME_HEADER_BYTES = 4;

/**
 * A peer announced a frame longer than the connection allows, or an empty one. The connection cannot be used any more.
 */
export class FrameSizeError extends Error {
  readonly code = "frame_size";
  readonly frameBytes: number;
  constructor(frameBytes: number, frameBytesMax: number) {
    super(`frame of ${frameBytes} bytes, allowed are 1 to ${frameBytesMax}`);
    this.name = "FrameSizeError";
    this.frameBytes = frameBytes;
  }
}

/** The four bytes before a body of `bodyBytes`. @throws RangeError if it does not fit in a u32, or for 0 */
export function frameHeader(bodyBytes: number): Uint8Array {
  if (!Number.isInteger(bodyBytes) || bodyBytes < 1 || bodyBytes > 0xffff_ffff) {
    throw new RangeError(`a frame has 1 to 2^32 - 1 bytes, not ${bodyBytes}`);
  }
  return Uint8Array.of(bodyBytes >>> 24, bodyBytes >>> 16, bodyBytes >>> 8, bodyBytes);
}

/** Joins bodies into one array of framed bytes, so that all frames of a turn are one write. */
export function joinFrames(bodies: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const body of bodies) length += FRAME_HEADER_BYTES + body.length;
  const joined = new Uint8Array(length);
  let offset = 0;
  for (const body of bodies) {
    joined.set(frameHeader(body.length), offset);
    joined.set(body, offset + FRAME_HEADER_BYTES);
    offset += FRAME_HEADER_BYTES + body.length;
  }
  return joined;
}

/**
 * Cuts a stream of chunks, split anywhere, into frame bodies. Input is attacker-controlled: memory is reserved for a
 * body only as its bytes arrive, doubling, and never beyond the limit. After a FrameSizeError it refuses all that
 * follows.
 *
 * A returned body may alias the chunk it came in: a caller that keeps it while reusing the chunk must copy.
 */
export class FrameSplitter {
  readonly #frameBytesMax: number;
  readonly #header = new Uint8Array(FRAME_HEADER_BYTES);
  #headerBytes = 0;
  /** Length of the body being read; meaningful once the header is complete. */
  #bodyBytes = 0;
  #body: Uint8Array | null = null;
  #bodyFilled = 0;
  #failed: FrameSizeError | null = null;

  /** @param frameBytesMax longest body accepted */
  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** Bytes of an unfinished frame that are held. 0 between frames. */
  get pendingBytes(): number {
    return this.#headerBytes + this.#bodyFilled;
  }

  /**
   * Takes the next chunk and returns the bodies it completes, in order.
   * @throws FrameSizeError
   */
  push(chunk: Uint8Array): Uint8Array[] {
    if (this.#failed !== null) throw this.#failed;
    const bodies: Uint8Array[] = [];
    let offset = 0;
    while (offset < chunk.length) {
      if (this.#headerBytes < FRAME_HEADER_BYTES) {
        offset = this.#takeHeader(chunk, offset);
        continue;
      }
      const wanted = this.#bodyBytes - this.#bodyFilled;
      const available = Math.min(wanted, chunk.length - offset);
      const isWhole = this.#bodyFilled === 0 && available === wanted;
      if (isWhole) bodies.push(chunk.subarray(offset, offset + wanted));
      else this.#fill(chunk.subarray(offset, offset + available));
      offset += available;
      if (!isWhole && this.#bodyFilled === this.#bodyBytes && this.#body !== null) {
        bodies.push(this.#body.subarray(0, this.#bodyBytes));
      }
      if (isWhole || this.#bodyFilled === this.#bodyBytes) this.#reset();
    }
    return bodies;
  }

  #takeHeader(chunk: Uint8Array, start: number): number {
    let offset = start;
    while (offset < chunk.length && this.#headerBytes < FRAME_HEADER_BYTES) {
      this.#header[this.#headerBytes++] = chunk[offset++] ?? 0;
    }
    if (this.#headerBytes === FRAME_HEADER_BYTES) {
      const [a = 0, b = 0, c = 0, d = 0] = this.#header;
      this.#bodyBytes = a * 0x100_0000 + ((b << 16) | (c << 8) | d);
      if (this.#bodyBytes < 1 || this.#bodyBytes > this.#frameBytesMax) {
        this.#failed = new FrameSizeError(this.#bodyBytes, this.#frameBytesMax);
        throw this.#failed;
      }
    }
    return offset;
  }

  /** Doubles what is reserved, so that a peer that announces 4 MiB and sends 10 bytes costs 64 KiB at most. */
  #fill(part: Uint8Array): void {
    const needed = this.#bodyFilled + part.length;
    if (this.#body === null || this.#body.length < needed) {
      const capacity = Math.min(this.#bodyBytes, Math.max(needed * 2, 65_536));
      const grown = new Uint8Array(capacity);
      if (this.#body !== null) grown.set(this.#body.subarray(0, this.#bodyFilled));
      this.#body = grown;
    }
    this.#body.set(part, this.#bodyFilled);
    this.#bodyFilled = needed;
  }

  #reset(): void {
    this.#headerBytes = 0;
    this.#bodyBytes = 0;
    this.#body = null;
    this.#bodyFilled = 0;
  }
}
