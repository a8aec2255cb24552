/** What an envelope says, for a person: it is the word of who recorded it, so nothing of it is marked as proved. */
import type { Envelope, ReadEnvelope } from "@event-anchoring/bundle";
import type { ShownStep } from "./mark.ts";

const SHOWN_MAX = 200;
/** What a terminal would take for more than a character, or would turn around: it may be in content. */
const UNSHOWN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A file that is held against what an envelope names. */
export interface HeldFile {
  readonly name: string;
  readonly isIts: boolean;
}

/** The files that are there of what an envelope names. */
export interface HeldFiles {
  /** Null: it is not there, or is in the envelope itself. */
  readonly content: HeldFile | null;
  /** In the order of the attachments. */
  readonly attachments: readonly (HeldFile | null)[];
}

function shown(text: string): string {
  const plain = text.replaceAll(UNSHOWN, "\ufffd");
  return plain.length > SHOWN_MAX ? `${plain.slice(0, SHOWN_MAX)}…` : plain;
}

/** What, when and who, in one line. They are the word of who recorded it. */
export function envelopeLine({ what, when, who }: Envelope): string {
  return shown(`${what} at ${when}${who === null ? "" : ` by ${who}`}`);
}

function heldStep(label: string, { name, isIts }: HeldFile): ShownStep {
  const detail = `${name} is ${isIts ? "" : "NOT "}what the envelope names`;
  return { mark: isIts ? "pass" : "fail", label, detail };
}

function contentStep({ contentType, content }: Envelope, held: HeldFile | null): ShownStep {
  if (held !== null) return heldStep("content", held);
  const detail =
    "json" in content
      ? shown(JSON.stringify(content.json))
      : `${contentType}, ${content.size} bytes, SHA-256 ${content.hash}: it is not here`;
  return { mark: "skip", label: "content", detail };
}

/** The lines of an envelope, below the steps of its receipt. */
export function envelopeSteps({ envelope, code }: ReadEnvelope, { content, attachments }: HeldFiles): ShownStep[] {
  if (envelope === null) return [{ mark: "warn", label: "envelope", detail: `it cannot be read as one (${code})` }];
  return [
    { mark: "skip", label: "says", detail: `${envelopeLine(envelope)}; that is the word of who recorded it` },
    contentStep(envelope, content),
    ...envelope.attachments.flatMap(({ name, contentType, size, hash }, at): ShownStep[] => {
      const held = attachments[at] ?? null;
      const detail = `${shown(name)}, ${contentType}, ${size} bytes, SHA-256 ${hash}`;
      return [{ mark: "skip", label: "attachment", detail }, ...(held === null ? [] : [heldStep("", held)])];
    }),
  ];
}

/** The envelope is anchored, and a file that is there is not what it names. Null: none is. */
export function contentDiffersText({ content, attachments }: HeldFiles): string | null {
  const other = [content, ...attachments].find((held) => held?.isIts === false);
  return other ? `NOT VALID (content_differs): ${other.name} is not what the envelope names` : null;
}
