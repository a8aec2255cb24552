/** A backup on its way into a file that only some can read: zstd, then age. And the way back. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { Zstd } from "@hpcc-js/wasm-zstd";
import { Decrypter, Encrypter } from "age-encryption";
import { Decompress } from "fzstd";
import { CliError, EXIT } from "../terminal/cli-error.ts";

/** Leaves are mostly hashes: higher levels take longer for the same size. */
const LEVEL = 3;
/** What goes through the compressor at once. */
const PIECE_BYTES = 1024 * 1024;

export interface PackedFile {
  readonly bytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
}

/**
 * Compresses and encrypts what it is given, piece by piece. What the compressor makes is unpacked again at once by
 * another implementation, and compared: a backup that nobody can unpack would be found out too late.
 */
export class BackupPacker {
  readonly #zstd: Zstd;
  readonly #plain = createHash("sha256");
  readonly #unpacked = createHash("sha256");
  readonly #unpacker = new Decompress((piece) => this.#unpacked.update(piece));
  readonly #packed = createHash("sha256");
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #done: Promise<void>;
  #bytes = 0;

  private constructor(zstd: Zstd, encrypter: Encrypter, file: FileHandle) {
    this.#zstd = zstd;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.#writer = writable.getWriter();
    this.#done = encrypter.encrypt(readable).then((encrypted) =>
      encrypted.pipeTo(
        new WritableStream({
          write: async (piece) => {
            await file.appendFile(piece);
            this.#packed.update(piece);
            this.#bytes += piece.length;
          },
        }),
      ),
    );
    // Whoever adds the next piece is told.
    this.#done.catch((error: unknown) => this.#writer.abort(error).catch(() => undefined));
  }

  /** One at a time: the compressor has one state. */
  static async begin(recipients: readonly string[], file: FileHandle): Promise<BackupPacker> {
    const zstd = await Zstd.load();
    zstd.reset();
    zstd.setCompressionLevel(LEVEL);
    return new BackupPacker(zstd, encrypterTo(recipients), file);
  }

  /** @throws the file's error */
  async add(bytes: Uint8Array): Promise<void> {
    this.#plain.update(bytes);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      await this.#pass(this.#zstd.compressChunk(bytes.subarray(at, at + PIECE_BYTES)));
    }
  }

  async #pass(compressed: Uint8Array, isLast = false): Promise<void> {
    this.#unpacker.push(compressed, isLast);
    if (compressed.length > 0) await this.#writer.write(compressed);
  }

  /** Everything is written; the caller syncs the file. @throws the file's error; CliError `internal` */
  async finish(): Promise<PackedFile> {
    await this.#pass(this.#zstd.compressEnd(), true);
    if (!this.#plain.digest().equals(this.#unpacked.digest())) {
      throw new CliError(EXIT.internal, "not_packed", "what was compressed cannot be unpacked again; nothing is kept");
    }
    await this.#writer.close();
    await this.#done;
    return { bytes: this.#bytes, sha256: this.#packed.digest("hex") };
  }

  /** Lets go of what has begun. */
  async abandon(): Promise<void> {
    await Promise.allSettled([this.#writer.abort(new Error("the backup was not finished")), this.#done]);
  }
}

/** @throws CliError `recipient_invalid` */
export function encrypterTo(recipients: readonly string[]): Encrypter {
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch (cause) {
      const message = `not a recipient of age, which begins with age1: ${recipient.slice(0, 12)}…`;
      throw new CliError(EXIT.usage, "recipient_invalid", message, cause);
    }
  }
  return encrypter;
}

/**
 * Decrypts and decompresses a kept backup, piece by piece.
 * @param identities secret keys of age, of which one must be a recipient
 * @throws CliError `identity_invalid`, `not_for_this_key`, `altered`; whatever the sink throws; the system's error
 */
export async function unpackBackup(
  path: string,
  identities: readonly string[],
  sink: (piece: Uint8Array) => Promise<void>,
): Promise<void> {
  const decrypter = decrypterWith(identities);
  const pieces: Uint8Array[] = [];
  const unpacker = new Decompress((piece) => pieces.push(piece.slice()));
  const drain = async (): Promise<void> => {
    for (const piece of pieces.splice(0)) await sink(piece);
  };
  const file = createReadStream(path);
  try {
    const encrypted = Readable.toWeb(file) as ReadableStream<Uint8Array>;
    const decrypted = await decrypter.decrypt(encrypted);
    for await (const compressed of decrypted) {
      unpacker.push(compressed);
      await drain();
    }
    unpacker.push(new Uint8Array(0), true);
    await drain();
  } catch (cause) {
    throw asUnpackFault(path, cause);
  } finally {
    file.destroy();
  }
}

function decrypterWith(identities: readonly string[]): Decrypter {
  const decrypter = new Decrypter();
  for (const identity of identities) {
    try {
      decrypter.addIdentity(identity);
    } catch (cause) {
      // What the library says may quote the key.
      throw new CliError(EXIT.usage, "identity_invalid", "not a secret key of age, AGE-SECRET-KEY-1…", cause);
    }
  }
  return decrypter;
}

/** What is none of the system's is damage, but for one sentence of age. */
function asUnpackFault(path: string, cause: unknown): unknown {
  if (cause instanceof CliError || !(cause instanceof Error)) return cause;
  // Codes of the system are words, those of the unpacker numbers.
  if ("code" in cause && typeof cause.code === "string") return cause;
  if (/no identity matched/u.test(cause.message)) {
    const message = `${path} was not encrypted to this key`;
    return new CliError(EXIT.usage, "not_for_this_key", message, cause);
  }
  return new CliError(EXIT.invalid, "altered", `${path} is damaged: it cannot be decrypted and unpacked`, cause);
}
