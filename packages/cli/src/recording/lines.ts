const NEWLINE = 0x0a;
/** A line that is longer has no end that would be waited for. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** Splits bytes into lines, wherever the pieces end. */
export class LineSplitter {
  #begun: Buffer = Buffer.alloc(0);

  /** Bytes of the line that has no end yet. */
  get begun(): Uint8Array {
    return this.#begun;
  }

  /** @returns whole lines, without their ends */
  take(bytes: Uint8Array): readonly Uint8Array[] {
    const all = Buffer.concat([this.#begun, bytes]);
    const lines: Uint8Array[] = [];
    let from = 0;
    for (let end = all.indexOf(NEWLINE); end >= 0; end = all.indexOf(NEWLINE, from)) {
      lines.push(all.subarray(from, end));
      from = end + 1;
    }
    this.#begun = all.subarray(from);
    if (this.#begun.length > LINE_BYTES_MAX) throw new RangeError(`a line of more than ${LINE_BYTES_MAX} bytes`);
    return lines;
  }
}

/** The lines of a stream; the last one need not have an end. */
export async function* linesOf(stream: AsyncIterable<unknown>): AsyncGenerator<{ readonly line: Uint8Array }> {
  const splitter = new LineSplitter();
  for await (const chunk of stream) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Buffer);
    for (const line of splitter.take(bytes)) yield { line };
  }
  if (splitter.begun.length > 0) yield { line: splitter.begun };
}
