import { bytesToHex } from "@event-anchoring/protocol";
import { sha256 } from "./crypto.ts";

export type SignerRole = "subject" | "issuer" | "grantor" | "witness" | "actor" | "revoker";

/** The bytes that one party signs, with Ed25519 and no hashing before it. docs/PROTOCOL.md, "What parties sign". */
export class Payload {
  readonly role: SignerRole;
  /** Whose signature is wanted; null: not said. */
  readonly publicKey: Uint8Array | null;
  readonly bytes: Uint8Array;

  constructor(role: SignerRole, publicKey: Uint8Array | null, bytes: Uint8Array) {
    this.role = role;
    this.publicKey = publicKey;
    this.bytes = bytes;
  }

  /** The bytes as lower-case hex. */
  get hex(): string {
    return bytesToHex(this.bytes);
  }

  /** SHA-256 of the bytes as hex: to compare on two screens. It is not what is signed. */
  get digest(): string {
    return bytesToHex(sha256(this.bytes));
  }
}
