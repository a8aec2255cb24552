/** An answer as far as it has come. */
export interface GivenAnswer {
  readonly status: number;
  /** The body, without the sizes of chunks. */
  readonly text: string;
  /** Whether nothing of it is missing; a stream is whole with its head, for it has no end. */
  readonly isWhole: boolean;
  /** Nothing else is ever answered on this connection. */
  readonly isStream: boolean;
}

/** What a server has said on one connection. */
export interface GivenAnswers {
  readonly answers: readonly GivenAnswer[];
  /** What is no answer of HTTP, from its beginning on; null: all of it is. */
  readonly unreadable: string | null;
}

interface Head {
  readonly status: number;
  readonly fields: string;
  readonly bodyStart: number;
}

const HEAD_END = "\r\n\r\n";
const HEAD_BYTES_MAX = 16 * 1024;
const STATUS_LINE = /^HTTP\/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?\r\n/;
const LENGTH = /\r\ncontent-length: *(\d{1,9}) *\r\n/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked *\r\n/i;
const STREAM = /\r\ncontent-type: *text\/event-stream/i;
const SHOWN_MAX = 60;

/** Reads every answer on a connection, one after the other; interim ones (1xx) are passed over. */
export function answersIn(bytes: Buffer): GivenAnswers {
  const answers: GivenAnswer[] = [];
  for (let at = 0; at < bytes.length;) {
    const head = headAt(bytes, at);
    if (head === "partial") return { answers, unreadable: null };
    const body = head === null ? null : bodyOf(bytes, head);
    if (head === null || body === null) {
      return { answers, unreadable: bytes.toString("latin1", at, at + SHOWN_MAX) };
    }
    if (head.status >= 200) {
      const isStream = STREAM.test(head.fields);
      answers.push({ status: head.status, text: body.text, isWhole: body.end !== null, isStream });
    }
    at = body.end ?? bytes.length;
  }
  return { answers, unreadable: null };
}

/** @returns null: it is no head */
function headAt(bytes: Buffer, at: number): Head | "partial" | null {
  const end = bytes.indexOf(HEAD_END, at, "latin1");
  if (end < 0) {
    const isBegun = "HTTP/1.".startsWith(bytes.toString("latin1", at, at + "HTTP/1.".length));
    return isBegun && bytes.length - at <= HEAD_BYTES_MAX ? "partial" : null;
  }
  const text = bytes.toString("latin1", at, end + HEAD_END.length);
  const status = STATUS_LINE.exec(text)?.[1];
  return status === undefined ? null : { status: Number(status), fields: text, bodyStart: end + HEAD_END.length };
}

interface Body {
  readonly text: string;
  /** Where it ends; null: not yet, or with its connection. */
  readonly end: number | null;
}

/** @returns null: it is not in the chunks that its head promises */
function bodyOf(bytes: Buffer, { status, fields, bodyStart }: Head): Body | null {
  if (STREAM.test(fields)) return { text: bytes.toString("utf8", bodyStart), end: bytes.length };
  if (status < 200 || status === 204 || status === 304) return { text: "", end: bodyStart };
  if (CHUNKED.test(fields)) return chunksAt(bytes, bodyStart);
  const length = LENGTH.exec(fields)?.[1];
  const end = length === undefined ? null : bodyStart + Number(length);
  const isThere = end !== null && end <= bytes.length;
  return { text: bytes.toString("utf8", bodyStart, isThere ? end : bytes.length), end: isThere ? end : null };
}

function chunksAt(bytes: Buffer, from: number): Body | null {
  const chunks: Buffer[] = [];
  const soFar = (end: number | null): Body => ({ text: Buffer.concat(chunks).toString("utf8"), end });
  for (let at = from; ;) {
    const lineEnd = bytes.indexOf("\r\n", at, "latin1");
    if (lineEnd < 0) return soFar(null);
    const size = bytes.toString("latin1", at, lineEnd);
    if (!/^[0-9a-f]{1,8}$/i.test(size)) return null;
    const start = lineEnd + 2;
    const end = start + Number.parseInt(size, 16);
    chunks.push(bytes.subarray(start, end));
    if (bytes.length < end + 2) return soFar(null);
    if (bytes.toString("latin1", end, end + 2) !== "\r\n") return null;
    if (end === start) return soFar(end + 2);
    at = end + 2;
  }
}
