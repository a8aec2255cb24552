import { request } from "undici";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { webhookHeaders } from "./webhook-signature.ts";
import type { SignWebhook } from "./webhook-signature.ts";
import type { WaitingWebhook, WebhookQueue, WebhookType } from "./webhook-queue.ts";

/** How long a receiver may take. */
const TIMEOUT_MS = 15_000;
const PAUSE_MS = 5000;
const PAUSE_MS_MAX = 86_400_000;
/** The receiver wants no more. */
const GONE = 410;

/** An event, before it is for anybody. */
export interface WebhookEvent {
  readonly id: string;
  readonly type: WebhookType;
  readonly timestamp: string;
  /** What a newer one replaces; null: nothing does. */
  readonly subject: string | null;
  readonly content: object;
}

export interface WebhookOptions {
  readonly urls: readonly string[];
  readonly keys: readonly SignWebhook[];
  readonly queue: WebhookQueue;
  readonly now: () => number;
  /** From 0 to 1. */
  readonly chance: () => number;
  /** Told what went wrong, for the log. */
  readonly say: (text: string) => void;
}

/** Plain http only to this host. @throws CliError `usage` */
export function webhookUrlOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isHere = url !== null && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/u.test(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isHere)) return url.href;
  throw new CliError(EXIT.usage, "webhook_invalid", `--webhook takes an https address, not: ${text}`);
}

/**
 * Tells receivers, at least once: what waits is on disk, and is tried again after growing pauses for as long as it
 * takes. Only the operator's addresses are asked, and redirects are not followed.
 */
export class Webhooks {
  readonly #options: WebhookOptions;
  readonly #busy = new Set<string>();
  readonly #gone = new Set<string>();

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  get waitingCount(): number {
    return this.#options.queue.waiting.length;
  }

  /** Afterwards it is on disk for every receiver. */
  add({ id, type, timestamp, subject, content }: WebhookEvent): void {
    const { urls, queue, say, now } = this.#options;
    const body = JSON.stringify({ type, timestamp, data: content });
    for (const url of urls) {
      if (this.#gone.has(url)) continue;
      const isTaken = queue.add({ id, url, type, subject, body, attempts: 0, dueMs: now() });
      if (!isTaken) say(`too many webhooks wait: ${type} ${id} is not sent to ${url}`);
    }
  }

  /** Whether one more that cannot be left out may be added. */
  get hasRoom(): boolean {
    return this.#options.queue.hasRoomFor(this.#options.urls.length);
  }

  /** One attempt for each receiver that has something due: an alarm, if there is one, else what came first. */
  async deliver(): Promise<void> {
    const { queue, now } = this.#options;
    const due = queue.waiting.filter(({ dueMs, url }) => dueMs <= now() && !this.#busy.has(url));
    const isAlarm = ({ type }: WaitingWebhook): boolean => type === "log.alarm";
    const inTurn = [...due.filter(isAlarm), ...due.filter((each) => !isAlarm(each))];
    const first = new Map(inTurn.toReversed().map((webhook) => [webhook.url, webhook]));
    await Promise.all([...first.values()].map((webhook) => this.#attempt(webhook)));
  }

  async #attempt(webhook: WaitingWebhook): Promise<void> {
    const { queue, now, chance, say } = this.#options;
    const { url } = webhook;
    this.#busy.add(url);
    try {
      const { status, retryAfterS, reason } = await this.#send(webhook);
      if (status === GONE) {
        this.#gone.add(url);
        say(`${url} wants no more webhooks (410)`);
      }
      if (status === GONE || (status >= 200 && status < 300)) {
        queue.settle(webhook, null);
        return;
      }
      const attempts = webhook.attempts + 1;
      const pauseMs = Math.min(PAUSE_MS * 4 ** Math.min(attempts - 1, 16), PAUSE_MS_MAX);
      const delayMs = Math.max(pauseMs * (0.5 + chance() / 2), Math.min(retryAfterS * 1000, PAUSE_MS_MAX));
      say(`${url} did not take ${webhook.id} (${reason}); again in ${Math.round(delayMs / 1000)} s`);
      queue.settle(webhook, { attempts, dueMs: now() + delayMs });
    } finally {
      this.#busy.delete(url);
    }
  }

  async #send({ id, url, body }: WaitingWebhook): Promise<{ status: number; retryAfterS: number; reason: string }> {
    const { keys, now } = this.#options;
    const timestampS = Math.floor(now() / 1000);
    const headers = { "content-type": "application/json", ...webhookHeaders(keys, { id, body, timestampS }) };
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await request(url, { method: "POST", headers, body, signal });
      await response.body.dump({ limit: 16_384, signal });
      const retryAfter = Number(response.headers["retry-after"] ?? 0);
      const retryAfterS = Number.isFinite(retryAfter) ? retryAfter : 0;
      return { status: response.statusCode, retryAfterS, reason: `status ${response.statusCode}` };
    } catch (error) {
      return { status: 0, retryAfterS: 0, reason: error instanceof Error ? error.message : "the connection failed" };
    }
  }
}
