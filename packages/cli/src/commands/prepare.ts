import { bytesToHex } from "@event-anchoring/protocol";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { formatDraft, nextJson, nextSignature } from "../drafts/draft.ts";
import type { Draft } from "../drafts/draft.ts";
import type { Printer } from "../terminal/printer.ts";
import { writeWhole } from "../files/read-input.ts";

/** Where the exact bytes are that the next party signs. */
const payloadPathOf = (path: string, party: string): string => `${path}.${party}.bin`;

/** Writes the draft and, if somebody has to sign next, the bytes to be signed. @returns path of the bytes, or null */
export function writeDraft(draft: Draft, path: string): string | null {
  const next = nextSignature(draft);
  const payloadPath = next === null ? null : payloadPathOf(path, next.party);
  if (next !== null && payloadPath !== null) writeWhole(payloadPath, next.payload);
  writeWhole(path, formatDraft(draft));
  return payloadPath;
}

/** What a person or a program does next with a draft. */
export function showDraft(draft: Draft, path: string, isJson: boolean, printer: Printer): void {
  const next = nextSignature(draft);
  const payloadPath = next === null ? null : payloadPathOf(path, next.party);
  if (isJson) {
    printer.json({
      request: path,
      kind: draft.kind,
      complete: next === null,
      next: nextJson(draft),
      payload_file: payloadPath,
    });
    return;
  }
  if (next === null || payloadPath === null) {
    printer.verdict("pass", `${path} is complete. Send it: ${printer.next("submit", path)}`);
    return;
  }
  printer.check("skip", "next to sign", `the ${next.party}, key ${bytesToHex(next.publicKey)}`);
  printer.check("skip", "over", `the ${next.payload.length} bytes of ${payloadPath}`);
  printer.line(`With a key file: ${printer.next("sign", path, "--key", "<file>")}`);
  const elsewhere = printer.next("sign", path, "--signature", "<hex or file>");
  printer.line(`With another signer (Ed25519 over these very bytes): ${elsewhere}`);
}

/** `anchorctl prepare`: offline; what is to be signed, by whom first, in files that travel. */
export function prepareCommand(draft: Draft, path: string, isJson: boolean, printer: Printer): ExitCode {
  writeDraft(draft, path);
  if (!isJson) printer.check("pass", draft.kind, `prepared in ${path}`);
  showDraft(draft, path, isJson, printer);
  return EXIT.ok;
}
