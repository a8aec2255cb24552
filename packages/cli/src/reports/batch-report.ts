/** What became of many files, one JSON object a line: appended to as it happens, read to go on after a stop. */
import { appendFileSync, existsSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { isRecord } from "../files/nearest-cluster.ts";
import { asCliError, readText } from "../files/read-input.ts";

const REPORT_FORMAT = "anchorctl/report/v1";
const REPORT_BYTES_MAX = 512 * 1024 * 1024;

/** `anchored` is for good; everything else is tried again by the next run. */
export type FileStatus = "anchored" | "refused" | "unavailable" | "unreadable";

export interface ReportLine {
  readonly file: string;
  readonly status: FileStatus;
  readonly event_hash: string | null;
  readonly client_event_id: string | null;
  readonly anchor_id: string | null;
  readonly receipt: string | null;
  /** The problem's code; null if there is none. */
  readonly code: string | null;
  readonly detail: string | null;
}

export class BatchReport {
  readonly path: string;
  /** Begins the client_event_id of every file: the same file in the same report is the same event. */
  readonly run: string;
  readonly originFingerprint: string;
  /** By file: the hash that was anchored, and the anchor. */
  readonly #anchored: ReadonlyMap<string, { readonly eventHash: string; readonly receipt: string | null }>;

  private constructor(path: string, header: Header, lines: readonly ReportLine[]) {
    this.path = path;
    this.run = header.run;
    this.originFingerprint = header.originFingerprint;
    this.#anchored = new Map(
      lines.flatMap(({ file, status, event_hash: eventHash, receipt }) =>
        status === "anchored" && eventHash !== null ? [[file, { eventHash, receipt }] as const] : [],
      ),
    );
  }

  /**
   * Null: there is none yet.
   * @param act what all events of the run say, as JSON
   * @throws CliError `report_malformed`; `report_differs` for a report of a run that said something else
   */
  static open(path: string, act: object): BatchReport | null {
    if (!existsSync(path)) return null;
    const text = readText(path, REPORT_BYTES_MAX);
    const [first, ...rest] = text.split("\n").filter((line) => line !== "");
    const header = headerOf(jsonOf(first ?? ""));
    if (header === null) {
      throw new CliError(EXIT.usage, "report_malformed", `${path} is no report of anchorctl anchor (${REPORT_FORMAT})`);
    }
    if (header.act !== JSON.stringify(act)) {
      const message = `${path} is of a run with other references or another actor: give another --report`;
      throw new CliError(EXIT.usage, "report_differs", message);
    }
    // A run that was killed may have left half a line: it starts a new one, and the half says nothing.
    if (!text.endsWith("\n")) append(path, "\n");
    return new BatchReport(path, header, rest.flatMap(lineOf));
  }

  static begin(path: string, originFingerprint: string, act: object): BatchReport {
    const run = randomUUID();
    append(path, `${JSON.stringify({ format: REPORT_FORMAT, run, origin_fingerprint: originFingerprint, ...act })}\n`);
    return new BatchReport(path, { run, originFingerprint, act: JSON.stringify(act) }, []);
  }

  /** Whether a file with this content was anchored, and its receipt is still there. */
  isDone(file: string, eventHash: string): boolean {
    const done = this.#anchored.get(file);
    return done !== undefined && done.eventHash === eventHash && done.receipt !== null && existsSync(done.receipt);
  }

  add(lines: readonly ReportLine[]): void {
    if (lines.length > 0) append(this.path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
}

interface Header {
  readonly run: string;
  readonly originFingerprint: string;
  /** What the events say beside their hashes, as JSON. */
  readonly act: string;
}

function append(path: string, text: string): void {
  try {
    appendFileSync(path, text);
  } catch (error) {
    throw asCliError(path, "write", error);
  }
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // Half a line, which says nothing.
    return null;
  }
}

function headerOf(value: unknown): Header | null {
  if (!isRecord(value) || value.format !== REPORT_FORMAT) return null;
  const { run, origin_fingerprint: originFingerprint } = value;
  const act = {
    semantic_anchor: value.semantic_anchor ?? null,
    actor_public_key: value.actor_public_key ?? null,
  };
  if (typeof run !== "string" || typeof originFingerprint !== "string") return null;
  return { run, originFingerprint, act: JSON.stringify(act) };
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

function lineOf(text: string): readonly ReportLine[] {
  const value = jsonOf(text);
  if (!isRecord(value) || typeof value.file !== "string") return [];
  return [
    {
      file: value.file,
      status: value.status === "anchored" ? "anchored" : "unavailable",
      event_hash: textOrNull(value.event_hash),
      client_event_id: textOrNull(value.client_event_id),
      anchor_id: textOrNull(value.anchor_id),
      receipt: textOrNull(value.receipt),
      code: textOrNull(value.code),
      detail: textOrNull(value.detail),
    },
  ];
}
