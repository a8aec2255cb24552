import type { ExitCode } from "../terminal/cli-error.ts";
import { parseDraft } from "../drafts/draft.ts";
import { readText } from "../files/read-input.ts";
import type { RecordRun } from "./record-run.ts";
import { submitAndPrint } from "../drafts/submit-draft.ts";
import { DRAFT_BYTES_MAX } from "./sign.ts";

/** `anchorctl submit`: sends what everybody has signed; the same file again is the same record. */
export async function submitCommand(path: string, run: RecordRun): Promise<ExitCode> {
  const draft = parseDraft(readText(path, DRAFT_BYTES_MAX), path);
  return submitAndPrint(draft, run.service, { ...run, draftPath: path }, run.printer);
}
