import { FrameSplitter } from "./frame-splitter.ts";
import { LOCAL_FRAME_BYTES_MAX } from "./local-frames.ts";
import { LocalResponseReader } from "./local-responses.ts";
import type { LocalResponse } from "./local-responses.ts";

/** The answer to the only request of a connection to the control plane. A state is held as long as it lasts. */
export class OneAnswer {
  readonly #splitter = new FrameSplitter(LOCAL_FRAME_BYTES_MAX);
  readonly #reader = new LocalResponseReader();

  /** @returns null: more bytes are needed @throws DecodeError, FrameSizeError: the other end is of another build */
  take(chunk: Uint8Array): LocalResponse | null {
    for (const body of this.#splitter.push(chunk)) {
      const response = this.#reader.read(body);
      if (response !== null) return response;
    }
    return null;
  }
}
