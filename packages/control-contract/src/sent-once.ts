/** What the local link sends once, so that answers name it. README.md, "Local link". */
import { DecodeError, ORIGINS_MAX, bytesToHex, toOriginFingerprint } from "@event-anchoring/protocol";
import type { ByteReader, ByteWriter, OriginFingerprint } from "@event-anchoring/protocol";
import { readLongText, writeText } from "./fields.ts";

/**
 * A quorum certificate as this node holds it. It may be newer than the recorded one in its tables.
 *
 * One object for all answers under it, on both ends of the link: what is derived from it can be kept by its identity.
 */
export interface ShownCertificate {
  readonly originFingerprint: OriginFingerprint;
  readonly treeSize: number;
  readonly rootHash: Uint8Array;
  /** Unix seconds: the k-th smallest time of the cosignatures shown. */
  readonly certifiedAtS: number;
  /** The whole signed note: checkpoint text, log line and cosignature lines. */
  readonly checkpoint: string;
  /** The trust-root version that judges this size. */
  readonly trustRootVersion: number;
}

/**
 * Things of one kind that answers on one connection name instead of repeating them: of each origin the newest that was
 * sent. Both ends keep them by this class, so they drop the same ones; ids count from 1 and are never used again.
 */
export class SentOnce<T extends object> {
  readonly #originOf: (item: T) => OriginFingerprint;
  readonly #newestOf = new Map<string, { readonly id: number; readonly item: T }>();
  readonly #byId = new Map<number, T>();
  readonly #ids = new Map<T, number>();
  #lastId = 0;

  constructor(originOf: (item: T) => OriginFingerprint) {
    this.#originOf = originOf;
  }

  /** Takes the place of the one of its origin before it. @throws RangeError for more origins than can exist */
  add(item: T): number {
    const origin = bytesToHex(this.#originOf(item));
    const before = this.#newestOf.get(origin);
    if (before === undefined) {
      if (this.#newestOf.size === ORIGINS_MAX) throw new RangeError(`of over ${ORIGINS_MAX} origins`);
    } else {
      this.#byId.delete(before.id);
      this.#ids.delete(before.item);
    }
    const id = (this.#lastId += 1);
    this.#newestOf.set(origin, { id, item });
    this.#byId.set(id, item);
    this.#ids.set(item, id);
    return id;
  }

  /** Adds what has come with that id. @throws DecodeError if the ends do not agree on it */
  receive(id: number, item: T): void {
    if (id !== this.#lastId + 1) throw new DecodeError("value_invalid", `id ${id} is out of turn`);
    try {
      this.add(item);
    } catch (error) {
      if (error instanceof RangeError) throw new DecodeError("value_invalid", error.message);
      throw error;
    }
  }

  find(id: number): T | undefined {
    return this.#byId.get(id);
  }

  /** @throws DecodeError */
  named(id: number): T {
    const item = this.#byId.get(id);
    if (item === undefined) throw new DecodeError("value_invalid", `id ${id} is not the newest sent of any origin`);
    return item;
  }

  idOf(item: T): number | undefined {
    return this.#ids.get(item);
  }
}

/** The rest of a certificate frame, after the id. */
export function writeCertificate(writer: ByteWriter, certificate: ShownCertificate): void {
  writer.bytes(certificate.originFingerprint, 32).u64(certificate.treeSize).bytes(certificate.rootHash, 32);
  writer.u64(certificate.certifiedAtS).u32(certificate.trustRootVersion);
  writeText(writer, certificate.checkpoint);
}

/** The rest of a certificate frame, after the id. @throws DecodeError */
export function readCertificate(reader: ByteReader): ShownCertificate {
  return {
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    treeSize: reader.u64(),
    rootHash: reader.bytes(32),
    certifiedAtS: reader.u64(),
    trustRootVersion: reader.u32(),
    checkpoint: readLongText(reader),
  };
}
