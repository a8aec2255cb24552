import type { ServerResponse } from "node:http";

/** What a reader has not taken from this process; the system keeps some hundred KiB more. An event has about 2 KiB. */
const UNREAD_BYTES_MAX = 16 * 1024;

type Stream = Pick<ServerResponse, "write" | "end" | "destroy" | "destroyed" | "writableEnded" | "writableLength">;

/** The writable end of a stream whose reader may be slow: it is dropped then, and nothing is queued for it. */
export class StreamReader {
  readonly #stream: Stream;
  readonly #onDropped: () => void;

  constructor(stream: Stream, onDropped: () => void) {
    this.#stream = stream;
    this.#onDropped = onDropped;
  }

  /** False: the reader is gone, or is dropped now. */
  send(bytes: Uint8Array): boolean {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return false;
    if (stream.writableLength > UNREAD_BYTES_MAX) {
      this.#onDropped();
      stream.destroy();
      return false;
    }
    stream.write(bytes);
    return true;
  }

  end(text: string): void {
    if (!this.#stream.destroyed && !this.#stream.writableEnded) this.#stream.end(text);
  }
}
