import { envelopeSteps } from "@event-anchoring/verdicts";
import type { EnvelopeFile } from "../files/envelope-file.ts";
import type { Printer } from "../terminal/printer.ts";

/** The lines of an envelope, below the steps of its receipt. */
export function printEnvelope(printer: Printer, { read, held }: EnvelopeFile): void {
  for (const { mark, label, detail } of envelopeSteps(read, held)) printer.check(mark, label, detail);
}

/** The same for programs. */
export function envelopeJson(file: EnvelopeFile | null): object | null {
  if (file === null) return null;
  const { read, held } = file;
  if (read.envelope === null) return { readable: false, code: read.code };
  const { what, when, who, contentType } = read.envelope;
  return { readable: true, what, when, who, content_type: contentType, content_matches: held.content?.isIts ?? null };
}
