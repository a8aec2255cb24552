export interface HttpAnswer {
  /** 0: there was none. */
  readonly status: number;
  readonly body: Buffer;
}

interface Head {
  readonly status: number;
  readonly bodyStart: number;
  /** Null: in chunks. */
  readonly bodyLength: number | null;
  readonly isLast: boolean;
}

/** An unreadable answer: the connection is given up. */
export class HttpSyntaxError extends Error {}

const HEAD_END = "\r\n\r\n";
const HEAD_BYTES_MAX = 16 * 1024;

/**
 * Reads the answers of one connection, where a request is sent after the answer to the one before: HTTP/1.1 (RFC 9112)
 * as far as the measured servers speak it, with a length or in chunks, without trailers.
 */
export class HttpResponseReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  #head: Head | null = null;

  /** Whether the server ends the connection after the newest answer. */
  isLast = false;

  /** @returns the answer when it is complete. @throws HttpSyntaxError */
  push(part: Buffer): HttpAnswer | null {
    this.#parts.push(part);
    this.#bytes += part.length;
    this.#head ??= readHead(this.#joined());
    const head = this.#head;
    if (head === null) {
      if (this.#bytes > HEAD_BYTES_MAX) throw new HttpSyntaxError("the head of an answer does not end");
      return null;
    }
    if (head.bodyLength !== null && this.#bytes < head.bodyStart + head.bodyLength) return null;
    const rest = this.#joined().subarray(head.bodyStart);
    const body = head.bodyLength === null ? readChunks(rest) : rest;
    if (body === null) return null;
    if (head.bodyLength !== null && body.length > head.bodyLength) throw new HttpSyntaxError("more than one answer");
    this.#parts = [];
    this.#bytes = 0;
    this.#head = null;
    this.isLast = head.isLast;
    return { status: head.status, body };
  }

  #joined(): Buffer {
    const [first] = this.#parts;
    if (this.#parts.length === 1 && first !== undefined) return first;
    const joined = Buffer.concat(this.#parts);
    this.#parts = [joined];
    return joined;
  }
}

const STATUS_LINE = /^HTTP\/1\.1 ([2-5]\d\d) /u;
const LENGTH = /\r\ncontent-length: *(\d{1,9}) *(?:\r\n|$)/iu;
const CHUNKED = /\r\ntransfer-encoding: *chunked *(?:\r\n|$)/iu;
const CLOSE = /\r\nconnection: *close *(?:\r\n|$)/iu;

function readHead(bytes: Buffer): Head | null {
  const end = bytes.indexOf(HEAD_END, 0, "latin1");
  if (end < 0) return null;
  const text = bytes.toString("latin1", 0, end);
  const status = STATUS_LINE.exec(text)?.[1];
  if (status === undefined) throw new HttpSyntaxError(`no status line: ${text.slice(0, 60)}`);
  const length = LENGTH.exec(text)?.[1];
  if (length === undefined && !CHUNKED.test(text)) throw new HttpSyntaxError("an answer of unknown length");
  return {
    status: Number(status),
    bodyStart: end + HEAD_END.length,
    bodyLength: length === undefined ? null : Number(length),
    isLast: CLOSE.test(text),
  };
}

/** The bodies of all chunks; null while the last one is missing. */
function readChunks(bytes: Buffer): Buffer | null {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf("\r\n", at, "latin1");
    if (lineEnd < 0) return null;
    const size = /^[0-9a-f]{1,8}$/iu.exec(bytes.toString("latin1", at, lineEnd))?.[0];
    if (size === undefined) throw new HttpSyntaxError("a chunk without a size");
    const start = lineEnd + 2;
    const end = start + Number.parseInt(size, 16);
    if (bytes.length < end + 2) return null;
    if (bytes.toString("latin1", end, end + 2) !== "\r\n") throw new HttpSyntaxError("a chunk longer than its size");
    if (end === start) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(start, end));
    at = end + 2;
  }
}
