import { createDecipheriv, createHmac } from "node:crypto";
import type { DecipherChaCha20Poly1305, DecipherGCM } from "node:crypto";

/**
 * Reads TLS 1.3 connections of other processes, with the secrets of their keylog (RFC 8446 sections 5, 7.1 and 7.3; the
 * NSS key log format).
 */

const RECORD = { handshake: 22, applicationData: 23 } as const;
const HANDSHAKE = { clientHello: 1, serverHello: 2, keyUpdate: 24 } as const;
const HEADER_BYTES = 5;
const TAG_BYTES = 16;
const RANDOM_BYTES = 32;
/** Where the random bytes are in the record that begins a handshake: behind record header, message header, version. */
const RANDOM_AT = HEADER_BYTES + 4 + 2;
/** A side sends its certificate and what goes with it in a few records before the first that its application wrote. */
const HANDSHAKE_RECORDS_MAX = 8;

interface Suite {
  readonly cipher: "aes-128-gcm" | "aes-256-gcm" | "chacha20-poly1305";
  readonly keyBytes: number;
  readonly hash: "sha256" | "sha384";
  readonly hashBytes: number;
}

const SUITES: Readonly<Record<number, Suite>> = {
  0x1301: { cipher: "aes-128-gcm", keyBytes: 16, hash: "sha256", hashBytes: 32 },
  0x1302: { cipher: "aes-256-gcm", keyBytes: 32, hash: "sha384", hashBytes: 48 },
  0x1303: { cipher: "chacha20-poly1305", keyBytes: 32, hash: "sha256", hashBytes: 32 },
};

/** Secrets by label and client random, as `CLIENT_TRAFFIC_SECRET_0 <random>`. */
export type SecretOf = (label: string, clientRandomHex: string) => Uint8Array | null;

/** A stream of records that cannot be read, and why. */
class TlsReadError extends Error {
  override readonly name = "TlsReadError";
}

/** What the client of one connection writes. Records wait until the secret they need is known. */
export class TlsReader {
  readonly #secretOf: SecretOf;
  readonly #client: RecordStream;
  readonly #server = new RecordSplitter();
  #clientRandomHex: string | null = null;
  #suite: Suite | null = null;

  /** @param onPlain what the application wrote, in order */
  constructor(secretOf: SecretOf, onPlain: (plain: Uint8Array) => void) {
    this.#secretOf = secretOf;
    this.#client = new RecordStream(onPlain);
  }

  /** @throws TlsReadError */
  pushClient(chunk: Uint8Array): void {
    for (const record of this.#client.split(chunk)) {
      if (record[0] === RECORD.handshake && record[HEADER_BYTES] === HANDSHAKE.clientHello) {
        const random = record.subarray(RANDOM_AT, RANDOM_AT + RANDOM_BYTES);
        this.#clientRandomHex ??= Buffer.from(random).toString("hex");
      }
      if (record[0] === RECORD.applicationData) this.#client.hold(record);
    }
    this.read();
  }

  /** Reads only which cipher suite the server chose. @throws TlsReadError */
  pushServer(chunk: Uint8Array): void {
    if (this.#suite !== null) return;
    for (const record of this.#server.push(chunk)) {
      if (record[0] !== RECORD.handshake || record[HEADER_BYTES] !== HANDSHAKE.serverHello) continue;
      const sessionIdAt = RANDOM_AT + RANDOM_BYTES;
      const suiteAt = sessionIdAt + 1 + (record[sessionIdAt] ?? 0);
      const code = ((record[suiteAt] ?? 0) << 8) | (record[suiteAt + 1] ?? 0);
      const suite = SUITES[code];
      if (suite === undefined) throw new TlsReadError(`cipher suite ${code.toString(16)} is not one of TLS 1.3`);
      this.#suite = suite;
      return;
    }
  }

  /** Reads what waits and can be read by now. @throws TlsReadError */
  read(): void {
    if (this.#clientRandomHex === null || this.#suite === null || this.#client.waiting === 0) return;
    if (!this.#client.hasKeys) {
      const secret = this.#secretOf("CLIENT_TRAFFIC_SECRET_0", this.#clientRandomHex);
      if (secret === null) return;
      this.#client.useSecret(this.#suite, secret);
    }
    this.#client.read();
  }

  /** Whether more waits than a handshake is made of. */
  get isBehind(): boolean {
    return this.#client.waiting > HANDSHAKE_RECORDS_MAX;
  }
}

/** Cuts a stream into records, each with its header. */
class RecordSplitter {
  #rest: Uint8Array = new Uint8Array(0);

  push(chunk: Uint8Array): readonly Uint8Array[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const records: Uint8Array[] = [];
    let at = 0;
    while (at + HEADER_BYTES <= bytes.length) {
      const length = HEADER_BYTES + (((bytes[at + 3] ?? 0) << 8) | (bytes[at + 4] ?? 0));
      if (at + length > bytes.length) break;
      records.push(bytes.subarray(at, at + length));
      at += length;
    }
    this.#rest = bytes.slice(at);
    return records;
  }
}

/** The records of one side. */
class RecordStream {
  readonly #onPlain: (plain: Uint8Array) => void;
  readonly #splitter = new RecordSplitter();
  readonly #held: Uint8Array[] = [];
  #suite: Suite | null = null;
  #secret: Uint8Array = new Uint8Array(0);
  #key: Uint8Array = new Uint8Array(0);
  #iv: Uint8Array = new Uint8Array(0);
  #sequence = 0n;
  #handshakeRecords = 0;

  constructor(onPlain: (plain: Uint8Array) => void) {
    this.#onPlain = onPlain;
  }

  /** Records that have not been read. */
  get waiting(): number {
    return this.#held.length;
  }

  get hasKeys(): boolean {
    return this.#suite !== null;
  }

  split(chunk: Uint8Array): readonly Uint8Array[] {
    return this.#splitter.push(chunk);
  }

  hold(record: Uint8Array): void {
    this.#held.push(record);
  }

  useSecret(suite: Suite, secret: Uint8Array): void {
    this.#suite = suite;
    this.#secret = secret;
    this.#key = expandLabel(suite, secret, "key", suite.keyBytes);
    this.#iv = expandLabel(suite, secret, "iv", 12);
    this.#sequence = 0n;
  }

  read(): void {
    const held = this.#held.splice(0);
    for (const record of held) {
      const plain = this.#open(record);
      if (plain !== null) this.#take(plain);
      else if (this.#sequence > 0n || ++this.#handshakeRecords > HANDSHAKE_RECORDS_MAX) {
        throw new TlsReadError(`record ${this.#sequence} does not open`);
      }
    }
  }

  #take(inner: Uint8Array): void {
    this.#sequence += 1n;
    let end = inner.length;
    while (end > 0 && inner[end - 1] === 0) end--;
    const type = inner[end - 1];
    const plain = inner.subarray(0, end - 1);
    if (type === RECORD.applicationData) this.#onPlain(plain);
    const suite = this.#suite;
    if (type === RECORD.handshake && plain[0] === HANDSHAKE.keyUpdate && suite !== null) {
      this.useSecret(suite, expandLabel(suite, this.#secret, "traffic upd", suite.hashBytes));
    }
  }

  /** Null: it was made with another key, as records of the handshake are. */
  #open(record: Uint8Array): Uint8Array | null {
    const suite = this.#suite;
    if (suite === null) return null;
    const nonce = Buffer.from(this.#iv);
    const low = nonce.readBigUInt64BE(4) ^ this.#sequence;
    nonce.writeBigUInt64BE(low, 4);
    const sealed = record.subarray(HEADER_BYTES);
    const decipher = decipherOf(suite, this.#key, nonce);
    decipher.setAAD(record.subarray(0, HEADER_BYTES), { plaintextLength: sealed.length - TAG_BYTES });
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    const opened = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES));
    try {
      decipher.final();
      return opened;
    } catch (error) {
      if (String(error).includes("unable to authenticate")) return null;
      throw error;
    }
  }
}

function decipherOf({ cipher }: Suite, key: Uint8Array, nonce: Uint8Array): DecipherGCM | DecipherChaCha20Poly1305 {
  const options = { authTagLength: TAG_BYTES };
  if (cipher === "chacha20-poly1305") return createDecipheriv(cipher, key, nonce, options);
  return createDecipheriv(cipher, key, nonce, options);
}

/** HKDF-Expand-Label with an empty context (RFC 8446, 7.1). */
function expandLabel(suite: Suite, secret: Uint8Array, label: string, length: number): Uint8Array {
  const full = Buffer.from(`tls13 ${label}`, "ascii");
  const labelled = Buffer.concat([Buffer.from([length >> 8, length & 0xff, full.length]), full, Buffer.from([0])]);
  let block: Uint8Array = new Uint8Array(0);
  const blocks: Uint8Array[] = [];
  for (let counter = 1; blocks.length * suite.hashBytes < length; counter++) {
    block = createHmac(suite.hash, secret)
      .update(block)
      .update(labelled)
      .update(Buffer.from([counter]))
      .digest();
    blocks.push(block);
  }
  return Buffer.concat(blocks).subarray(0, length);
}
