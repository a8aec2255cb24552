/** Certificates on the local link: each is sent once, and answers name it. README.md, "Local link". */
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
 * What answers on one connection may name: the newest certificate sent of each origin. Both ends keep it by this class,
 * so they drop the same ones; ids count from 1 and are never used again.
 */
export class LinkCertificates {
  readonly #newestOf = new Map<string, { readonly id: number; readonly certificate: ShownCertificate }>();
  readonly #byId = new Map<number, ShownCertificate>();
  readonly #ids = new Map<ShownCertificate, number>();
  #lastId = 0;

  get nextId(): number {
    return this.#lastId + 1;
  }

  /** Takes the place of the one of its origin before it. @throws RangeError for more origins than can exist */
  add(certificate: ShownCertificate): number {
    const origin = bytesToHex(certificate.originFingerprint);
    const before = this.#newestOf.get(origin);
    if (before === undefined) {
      if (this.#newestOf.size === ORIGINS_MAX) throw new RangeError(`certificates of over ${ORIGINS_MAX} origins`);
    } else {
      this.#byId.delete(before.id);
      this.#ids.delete(before.certificate);
    }
    const id = (this.#lastId += 1);
    this.#newestOf.set(origin, { id, certificate });
    this.#byId.set(id, certificate);
    this.#ids.set(certificate, id);
    return id;
  }

  find(id: number): ShownCertificate | undefined {
    return this.#byId.get(id);
  }

  idOf(certificate: ShownCertificate): number | undefined {
    return this.#ids.get(certificate);
  }
}

/** The fields of a certificate frame. */
export function writeCertificate(writer: ByteWriter, id: number, certificate: ShownCertificate): void {
  writer.u64(id).bytes(certificate.originFingerprint, 32).u64(certificate.treeSize).bytes(certificate.rootHash, 32);
  writer.u64(certificate.certifiedAtS).u32(certificate.trustRootVersion);
  writeText(writer, certificate.checkpoint);
}

/** Adds what a certificate frame holds. @throws DecodeError also if it is out of turn: then the ends do not agree */
export function readCertificate(reader: ByteReader, certificates: LinkCertificates): void {
  const id = reader.u64();
  if (id !== certificates.nextId) throw new DecodeError("value_invalid", `certificate ${id} is out of turn`);
  const certificate = {
    originFingerprint: toOriginFingerprint(reader.bytes(32)),
    treeSize: reader.u64(),
    rootHash: reader.bytes(32),
    certifiedAtS: reader.u64(),
    trustRootVersion: reader.u32(),
    checkpoint: readLongText(reader),
  };
  reader.finish();
  try {
    certificates.add(certificate);
  } catch (error) {
    if (error instanceof RangeError) throw new DecodeError("value_invalid", error.message);
    throw error;
  }
}
