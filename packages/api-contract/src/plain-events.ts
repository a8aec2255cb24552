/**
 * Reads the plain form of an event, and of a batch of events, from the bytes of a body. It is the form that clients
 * send: known keys once each, hashes as lower-case hex, ids without escapes. A strict scan, JSON.parse and the schema
 * take four to six times as long.
 *
 * It knows no errors. Whatever else a body is, is not plain, and the schema judges it from its first byte: so there is
 * one source of refusals, and a body that is plain is one that the schema takes, with the same result.
 */
import { bytesToAscii, bytesToUtf8, toOriginFingerprint, ZERO_32 } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { PRINTABLE, semanticAnchorOf } from "./fields.ts";
import type { WireSemanticAnchor } from "./fields.ts";
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./json-codes.ts";
import { LIMITS } from "./limits.ts";
import { parseBody } from "./parse.ts";
import type { Parsed } from "./parse.ts";
import {
  BATCH_RECEIPTS,
  createBatchRequest,
  createBatchSchema,
  createEventRequest,
  createEventSchema,
  isOfBatch,
} from "./requests.ts";
import type {
  CreateBatchRequest,
  CreateEventRequest,
  WireBatch,
  WireBatchItem,
  WireCreateEvent,
  WireEvent,
} from "./requests.ts";
import { isPair } from "./signer.ts";

/** Ends a scan; caught at its door. Made once: no place in a body matters here. */
const NOT_PLAIN = new Error("the body is not plain");

const SMALL_N = 0x6e;

const NULL = codesOf("null");
const TRUE = codesOf("true");
const FALSE = codesOf("false");

/** By the code of a lower-case hex digit: its value. All others are negative. */
const HEX_VALUES: Int8Array = (() => {
  const values = new Int8Array(256).fill(-1);
  codesOf("0123456789abcdef").forEach((code, value) => (values[code] = value));
  return values;
})();

function codesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** How each field of an object is read. What may be left out is null then. */
interface ObjectForm<T> {
  readonly names: readonly (keyof T)[];
  readonly keys: readonly Uint8Array[];
  readonly reads: readonly ((scan: PlainScan) => unknown)[];
  /** A bit for each field that has to be there. */
  readonly requiredBits: number;
  readonly absent: T;
}

type Field<V> = { readonly read: (scan: PlainScan) => V } & ({ readonly absent: V } | { readonly isRequired: true });

/** Every field of the schema is named: one that a schema gets, and this form does not, is an error of types. */
function formOf<T>(fields: { readonly [Name in keyof T]-?: Field<T[Name]> }): ObjectForm<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  const isRequired = (name: keyof T): boolean => "isRequired" in fields[name];
  const absent = names.map((name) => [name, "absent" in fields[name] ? fields[name].absent : null] as const);
  return {
    names,
    keys: names.map((name) => codesOf(`"${name}"`)),
    reads: names.map((name) => fields[name].read),
    requiredBits: names.reduce((bits, name, index) => bits | (isRequired(name) ? 1 << index : 0), 0),
    absent: Object.fromEntries(absent) as T,
  };
}

/** One pass over the bytes of a body. Every method consumes what it reads, or throws NOT_PLAIN. */
class PlainScan {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The value that is all of the body. */
  whole<T>(form: ObjectForm<T>): T {
    this.#skipSpace();
    const value = this.object(form);
    this.#skipSpace();
    if (this.#at < this.#bytes.length) throw NOT_PLAIN;
    return value;
  }

  object<T>(form: ObjectForm<T>): T {
    this.#expect(OPEN_OBJECT);
    const read = { ...form.absent };
    let bits = 0;
    if (this.#isNext(CLOSE_OBJECT)) this.#at += 1;
    else {
      let expected = 0;
      do {
        const index = this.#key(form.keys, expected);
        if ((bits & (1 << index)) !== 0) throw NOT_PLAIN;
        bits |= 1 << index;
        expected = index + 1;
        this.#skipSpace();
        this.#expect(COLON);
        read[form.names[index] as keyof T] = form.reads[index]?.(this) as T[keyof T];
      } while (this.#continues(CLOSE_OBJECT));
    }
    if ((bits & form.requiredBits) !== form.requiredBits) throw NOT_PLAIN;
    return read;
  }

  /** @param itemsMax one to so many */
  list<T>(form: ObjectForm<T>, itemsMax: number): T[] {
    this.#expect(OPEN_ARRAY);
    this.#skipSpace();
    const items: T[] = [];
    do {
      if (items.length === itemsMax) throw NOT_PLAIN;
      items.push(this.object(form));
    } while (this.#continues(CLOSE_ARRAY));
    return items;
  }

  orNull<V>(read: () => V): V | null {
    if (!this.#isNext(SMALL_N)) return read();
    this.#literal(NULL);
    return null;
  }

  /** A string that is one of these words. */
  word<const Word extends string>(words: readonly Word[]): Word {
    this.#skipSpace();
    for (const word of words) {
      const codes = codesOf(`"${word}"`);
      if (!this.#startsWith(codes)) continue;
      this.#at += codes.length;
      return word;
    }
    throw NOT_PLAIN;
  }

  boolean(): boolean {
    const isTrue = this.#isNext(TRUE[0] ?? 0);
    this.#literal(isTrue ? TRUE : FALSE);
    return isTrue;
  }

  /** A string of lower-case hex digits, two for each byte. */
  hex(byteLength: number): Uint8Array {
    this.#expect(QUOTE);
    const bytes = this.#bytes;
    const value = new Uint8Array(byteLength);
    let at = this.#at;
    let bits = 0;
    for (let index = 0; index < byteLength; index++, at += 2) {
      // Beyond the end there are no bytes, and so no digits.
      const pair = ((HEX_VALUES[bytes[at] ?? 0] ?? -1) << 4) | (HEX_VALUES[bytes[at + 1] ?? 0] ?? -1);
      bits |= pair;
      value[index] = pair;
    }
    if (bits < 0 || bytes[at] !== QUOTE) throw NOT_PLAIN;
    this.#at = at + 1;
    return value;
  }

  /** A reference: "" is the empty one. */
  reference(): Uint8Array {
    const isEmpty = this.#isNext(QUOTE) && this.#bytes[this.#at + 1] === QUOTE;
    if (!isEmpty) return this.hex(32);
    this.#at += 2;
    return ZERO_32;
  }

  /** A string of printable characters, none of them escaped. */
  printable(charsMax: number): string {
    this.#expect(QUOTE);
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start;
    for (let code = bytes[at]; code !== QUOTE; code = bytes[at]) {
      if (code === undefined || code < PRINTABLE.first || code > PRINTABLE.last || code === BACKSLASH) throw NOT_PLAIN;
      at += 1;
    }
    if (at === start || at - start > charsMax) throw NOT_PLAIN;
    this.#at = at + 1;
    return bytesToAscii(bytes.subarray(start, at));
  }

  #isNext(code: number): boolean {
    this.#skipSpace();
    return this.#bytes[this.#at] === code;
  }

  #expect(code: number): void {
    this.#skipSpace();
    if (this.#bytes[this.#at] !== code) throw NOT_PLAIN;
    this.#at += 1;
  }

  #literal(codes: Uint8Array): void {
    if (!this.#startsWith(codes)) throw NOT_PLAIN;
    this.#at += codes.length;
  }

  #startsWith(codes: Uint8Array): boolean {
    const bytes = this.#bytes;
    const at = this.#at;
    for (let index = 0; index < codes.length; index++) if (bytes[at + index] !== codes[index]) return false;
    return true;
  }

  /** Which of the keys comes here. Most clients send the keys in one order, so the one expected is tried first. */
  #key(keys: readonly Uint8Array[], expected: number): number {
    this.#skipSpace();
    for (let tried = 0; tried < keys.length; tried++) {
      const index = (expected + tried) % keys.length;
      const key = keys[index];
      if (key === undefined || !this.#startsWith(key)) continue;
      this.#at += key.length;
      return index;
    }
    throw NOT_PLAIN;
  }

  /** After a value: true after a comma, false after the closing bracket. */
  #continues(close: number): boolean {
    this.#skipSpace();
    const code = this.#bytes[this.#at];
    if (code !== COMMA && code !== close) throw NOT_PLAIN;
    this.#at += 1;
    return code === COMMA;
  }

  #skipSpace(): void {
    const bytes = this.#bytes;
    let code = bytes[this.#at];
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      this.#at += 1;
      code = bytes[this.#at];
    }
  }
}

const readHash = (scan: PlainScan): Uint8Array => scan.hex(32);
const readOrigin = (scan: PlainScan): OriginFingerprint => toOriginFingerprint(scan.hex(32));
const readReference = (scan: PlainScan): Uint8Array => scan.orNull(() => scan.reference()) ?? ZERO_32;
const reference = { read: readReference, absent: ZERO_32 };

const SEMANTIC_ANCHOR = formOf<WireSemanticAnchor>({
  iris_ref: reference,
  scroll_ref: reference,
  grant_ref: reference,
  bond_ref: reference,
  yield_ref: reference,
  event_data_hash: reference,
});

const eventFields: { readonly [Name in keyof WireEvent]-?: Field<WireEvent[Name]> } = {
  event_hash: { read: readHash, isRequired: true },
  semantic_anchor: {
    read: (scan) => semanticAnchorOf(scan.orNull(() => scan.object(SEMANTIC_ANCHOR))),
    absent: semanticAnchorOf(null),
  },
  client_event_id: {
    read: (scan) => scan.orNull(() => scan.printable(LIMITS.clientEventIdCharsMax)),
    absent: null,
  },
  actor_public_key: { read: (scan) => scan.orNull(() => scan.hex(32)), absent: null },
  actor_signature: { read: (scan) => scan.orNull(() => scan.hex(64)), absent: null },
};

const EVENT = formOf<WireCreateEvent>({ origin_fingerprint: { read: readOrigin, isRequired: true }, ...eventFields });

const BATCH_ITEM = formOf<WireBatchItem>({
  origin_fingerprint: { read: (scan) => scan.orNull(() => readOrigin(scan)), absent: null },
  ...eventFields,
});

const BATCH = formOf<WireBatch>({
  origin_fingerprint: { read: readOrigin, isRequired: true },
  events: { read: (scan) => scan.list(BATCH_ITEM, LIMITS.batchItemsMax), isRequired: true },
  atomic: { read: (scan) => scan.orNull(() => scan.boolean()), absent: null },
  receipts: { read: (scan) => scan.orNull(() => scan.word(BATCH_RECEIPTS)), absent: null },
});

function scanned<T>(body: Uint8Array, form: ObjectForm<T>): T | null {
  try {
    return new PlainScan(body).whole(form);
  } catch (error) {
    if (error === NOT_PLAIN) return null;
    throw error;
  }
}

function isActorWhole({ actor_public_key: publicKey, actor_signature: signature }: WireEvent): boolean {
  return isPair(publicKey, signature);
}

/** The request of a plain body; null: the schema has to look at it. */
export function scanEvent(body: Uint8Array): CreateEventRequest | null {
  const event = scanned(body, EVENT);
  return event === null || !isActorWhole(event) ? null : createEventRequest(event);
}

/** The request of a plain body; null: the schema has to look at it. */
export function scanBatch(body: Uint8Array): CreateBatchRequest | null {
  const batch = scanned(body, BATCH);
  if (batch === null) return null;
  const isPlain = batch.events.every((item) => isActorWhole(item) && isOfBatch(item, batch));
  return isPlain ? createBatchRequest(batch) : null;
}

/** Parses the body of one event to be anchored. @param body UTF-8; attacker-controlled, bounded by the route's limit */
export function parseCreateEvent(body: Uint8Array): Parsed<CreateEventRequest> {
  const plain = scanEvent(body);
  return plain === null ? parseBody(createEventSchema, bytesToUtf8(body)) : { ok: true, value: plain };
}

/** Parses the body of a batch of them. @param body UTF-8; attacker-controlled, bounded by the route's limit */
export function parseCreateBatch(body: Uint8Array): Parsed<CreateBatchRequest> {
  const plain = scanBatch(body);
  return plain === null ? parseBody(createBatchSchema, bytesToUtf8(body)) : { ok: true, value: plain };
}
