import { readFileSync } from "node:fs";
import { isRecord } from "../files/nearest-cluster.ts";
import { asCliError, writeDurably } from "../files/read-input.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";

const FORMAT = "anchorctl/webhooks/v1";
/** Beyond these the oldest that is no alarm goes, and then the newest is not taken. */
const WAITING_MAX = 1000;

/** The first is sent before the others. */
const TYPES = ["log.alarm", "log.head", "log.revocation"] as const;
export type WebhookType = (typeof TYPES)[number];

/** One event for one receiver. */
export interface WaitingWebhook {
  /** The same for every attempt, and after a restart. */
  readonly id: string;
  readonly url: string;
  readonly type: WebhookType;
  /** What a newer one of the same subject replaces: an older head of an origin. Null: nothing does. */
  readonly subject: string | null;
  readonly body: string;
  /** Attempts that were made. */
  readonly attempts: number;
  /** No attempt is made before, Unix ms. */
  readonly dueMs: number;
}

/** What no receiver has taken yet. It is on disk before anything is sent, and after each change. */
export class WebhookQueue {
  readonly #path: string;
  #waiting: readonly WaitingWebhook[];

  /** @throws CliError `state_malformed`: a damaged file is never taken for an empty one */
  constructor(path: string) {
    this.#path = path;
    this.#waiting = read(path);
  }

  get waiting(): readonly WaitingWebhook[] {
    return this.#waiting;
  }

  /** Whether what can wait its turn may be added: half of the room is kept for alarms. */
  hasRoomFor(count: number): boolean {
    return this.#waiting.length + count <= WAITING_MAX / 2;
  }

  /** @returns false: there is no room */
  add(added: WaitingWebhook): boolean {
    const isSame = (each: WaitingWebhook): boolean => each.url === added.url && each.id === added.id;
    if (this.#waiting.some(isSame)) return true;
    const isReplaced = ({ url, subject }: WaitingWebhook): boolean =>
      url === added.url && subject !== null && subject === added.subject;
    let others = this.#waiting.filter((each) => !isReplaced(each));
    if (others.length >= WAITING_MAX) {
      const least = others.find(({ subject }) => subject !== null);
      if (least === undefined) return false;
      others = others.filter((each) => each !== least);
    }
    this.#replace([...others, added]);
    return true;
  }

  /** After an attempt. @param later null: it was taken, or is given up */
  settle(done: WaitingWebhook, later: Pick<WaitingWebhook, "attempts" | "dueMs"> | null): void {
    const isDone = ({ id, url }: WaitingWebhook): boolean => id === done.id && url === done.url;
    this.#replace(
      this.#waiting.flatMap((each) => {
        if (!isDone(each)) return [each];
        return later === null ? [] : [{ ...each, ...later }];
      }),
    );
  }

  #replace(waiting: readonly WaitingWebhook[]): void {
    writeDurably(this.#path, JSON.stringify({ format: FORMAT, waiting }));
    this.#waiting = waiting;
  }
}

function read(path: string): readonly WaitingWebhook[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (isRecord(error) && error["code"] === "ENOENT") return [];
    throw asCliError(path, "read", error);
  }
  const value: unknown = JSON.parse(text.startsWith("{") ? text : "null");
  if (isRecord(value) && value["format"] === FORMAT && Array.isArray(value["waiting"])) {
    const waiting: readonly unknown[] = value["waiting"];
    if (waiting.every(isWaiting)) return waiting;
  }
  throw new CliError(EXIT.usage, "state_malformed", `${path} holds no webhooks of anchorctl monitor`);
}

function isWaiting(value: unknown): value is WaitingWebhook {
  if (!isRecord(value)) return false;
  const { id, url, type, subject, body, attempts, dueMs } = value;
  if (!TYPES.some((known) => known === type)) return false;
  const areTexts = [id, url, body].every((each) => typeof each === "string");
  return areTexts && (subject === null || typeof subject === "string") && [attempts, dueMs].every(Number.isFinite);
}
