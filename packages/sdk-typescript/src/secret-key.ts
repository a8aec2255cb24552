/** A private key as `LocalKey` holds it. */
export interface SecretKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  /** @returns 64 bytes (RFC 8032) */
  sign(payload: Uint8Array): Uint8Array;
  /** @returns 32 secret bytes, the caller's own */
  exportSeed(): Uint8Array;
  /** Lets go of the secret, and overwrites what can be overwritten. It is not used afterwards. */
  destroy(): void;
}
