/**
 * An envelope: what happened, when, and who did it, as the bytes whose SHA-256 is anchored. docs/PROTOCOL.md,
 * "Envelopes".
 */
import type { JsonContent } from "./content-json.ts";

export const ENVELOPE_FORMAT = "event-anchoring/v4.2/envelope";

/** Limits of readers and writers. All inclusive. */
export const ENVELOPE_LIMITS = {
  /** Bytes of canonical JSON. */
  bytesMax: 1024 * 1024,
  /** Nesting of lists and objects, the envelope itself among them. */
  nestingMax: 64,
  attachmentsMax: 64,
  /** Unicode code points of `what`, `who`, a name or a media type. */
  textMax: 256,
} as const;

/** Something that lies elsewhere, and that the envelope names by its hash. */
export interface EnvelopeAttachment {
  readonly name: string;
  readonly contentType: string;
  readonly size: number;
  /** SHA-256, 64 lower-case hex digits. */
  readonly hash: string;
}

export interface Envelope {
  /** Type of the event, such as `tool.call`. */
  readonly what: string;
  /** RFC 3339, UTC, three decimals: when it happened, by the clock of who recorded it. */
  readonly when: string;
  /** Who acted, as who recorded it says. No proof. */
  readonly who: string | null;
  readonly contentType: string;
  /** JSON inside of the envelope; or the SHA-256 (64 lower-case hex digits) and bytes of what lies beside it. */
  readonly content: { readonly json: JsonContent } | { readonly hash: string; readonly size: number };
  readonly attachments: readonly EnvelopeAttachment[];
  /** 32 random bytes as 64 lower-case hex digits, so that nobody can guess at the content by the hash. */
  readonly salt: string | null;
}
