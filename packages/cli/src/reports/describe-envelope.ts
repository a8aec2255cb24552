import type { Envelope } from "@event-anchoring/bundle";
import type { EnvelopeFile } from "../files/envelope-file.ts";
import type { Printer } from "../terminal/printer.ts";

const SHOWN_MAX = 200;
/** What a terminal would take for more than a character: it may be in content. */
const UNSHOWN = /[\p{C}\p{Zl}\p{Zp}]/gu;

function shown(text: string): string {
  const plain = text.replaceAll(UNSHOWN, "\ufffd");
  return plain.length > SHOWN_MAX ? `${plain.slice(0, SHOWN_MAX)}…` : plain;
}

/** What, when and who, in one line. They are the word of who recorded it. */
export function envelopeLine({ what, when, who }: Envelope): string {
  return shown(`${what} at ${when}${who === null ? "" : ` by ${who}`}`);
}

/** The lines of an envelope, below the steps of its receipt. */
export function printEnvelope(printer: Printer, { envelope, code, content: beside }: EnvelopeFile): void {
  if (envelope === null) {
    printer.check("warn", "envelope", `it cannot be read as one (${code ?? ""})`);
    return;
  }
  const { contentType, content, attachments } = envelope;
  printer.check("skip", "says", `${envelopeLine(envelope)}; that is the word of who recorded it`);
  if ("json" in content) printer.check("skip", "content", shown(JSON.stringify(content.json)));
  else if (beside === null) {
    printer.check("skip", "content", `${contentType}, ${content.size} bytes, SHA-256 ${content.hash}: it is not here`);
  } else {
    const said = beside.isIts ? "is what the envelope names" : "is NOT what the envelope names";
    printer.check(beside.isIts ? "pass" : "fail", "content", `${beside.path} ${said}`);
  }
  for (const { name, contentType: type, size, hash } of attachments) {
    printer.check("skip", "attachment", `${shown(name)}, ${type}, ${size} bytes, SHA-256 ${hash}`);
  }
}

/** The same for programs. */
export function envelopeJson(file: EnvelopeFile | null): object | null {
  if (file === null) return null;
  const { envelope, code, content } = file;
  if (envelope === null) return { readable: false, code };
  const { what, when, who, contentType } = envelope;
  return { readable: true, what, when, who, content_type: contentType, content_matches: content?.isIts ?? null };
}
