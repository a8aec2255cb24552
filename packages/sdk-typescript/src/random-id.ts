import { bytesToHex } from "@event-anchoring/protocol";
import { randomBytes } from "./secrets.ts";

/** A new random UUID (RFC 9562, version 4). Web Crypto's own is missing on pages without TLS. */
export function randomUuid(): string {
  const bytes = randomBytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytesToHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/u, "$1-$2-$3-$4-");
}
