import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Alarm } from "@event-anchoring/sdk";
import { asCliError, writeWhole } from "../files/read-input.ts";

/** An alarm, and where it was seen. */
export interface SeenAlarm extends Pick<Alarm, "code" | "originFingerprint" | "detail" | "evidence"> {
  readonly apiUrl: string;
}

/** The same alarm has the same name however often it is seen, also while the log that is shown goes on growing. */
export function alarmName({ code, originFingerprint, apiUrl, evidence }: SeenAlarm): string {
  const held = evidence.length > 1 ? evidence[0] : null;
  const text = JSON.stringify([code, originFingerprint, apiUrl, held]);
  return `${code}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

/** A file for each alarm, until a person removes it. The same alarm, seen again, is the same file. */
export class EvidenceFolder {
  readonly #path: string;

  /** @throws CliError `cannot_write` */
  constructor(path: string) {
    this.#path = path;
    try {
      mkdirSync(path, { recursive: true });
    } catch (error) {
      throw asCliError(path, "write", error);
    }
  }

  get count(): number {
    return readdirSync(this.#path).filter((name) => name.endsWith(".json")).length;
  }

  has(alarm: SeenAlarm): boolean {
    return existsSync(this.#fileOf(alarm));
  }

  keep(alarm: SeenAlarm, seenAt: string): void {
    const { code, originFingerprint, apiUrl, detail, evidence } = alarm;
    const file = { seen_at: seenAt, code, origin_fingerprint: originFingerprint, api_url: apiUrl, detail };
    writeWhole(this.#fileOf(alarm), `${JSON.stringify({ ...file, notes: evidence }, null, 2)}\n`);
  }

  #fileOf(alarm: SeenAlarm): string {
    return join(this.#path, `${alarmName(alarm)}.json`);
  }
}
