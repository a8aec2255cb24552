import type { MonitorLook } from "@event-anchoring/sdk";
import { alarmName } from "./evidence-folder.ts";
import type { EvidenceFolder, SeenAlarm } from "./evidence-folder.ts";
import { MonitorListener } from "./monitor-listener.ts";
import type { ListenAddress } from "./monitor-listener.ts";
import { MonitorMetrics } from "./monitor-metrics.ts";
import type { WebhookEvent, Webhooks } from "./webhooks.ts";

/** How often it is looked for webhooks that are due. */
const DELIVERY_MS = 1000;

export interface WatchOptions {
  readonly apiUrls: readonly string[];
  /** Null: nobody asks. */
  readonly listen: ListenAddress | null;
  readonly evidence: EvidenceFolder;
  /** Null: nobody is told. */
  readonly webhooks: Webhooks | null;
  /** Without a look for so long, it is not alive. */
  readonly silenceMsMax: number;
  readonly now: () => number;
}

/** A watch that goes on after an alarm: keeps evidence, answers scrapes, and tells receivers. */
export class WatchService {
  readonly #options: WatchOptions;
  readonly #metrics: MonitorMetrics;
  #listener: MonitorListener | null = null;
  #timer: ReturnType<typeof setInterval> | null = null;
  #lookedMs: number;
  #failure: Error | null = null;

  private constructor(options: WatchOptions) {
    this.#options = options;
    this.#metrics = new MonitorMetrics(options.apiUrls);
    this.#lookedMs = options.now();
  }

  /** @throws CliError for an address that cannot be listened at */
  static async start(options: WatchOptions): Promise<WatchService> {
    const service = new WatchService(options);
    const { listen, evidence, webhooks, silenceMsMax, now } = options;
    if (listen !== null) {
      service.#listener = await MonitorListener.open(listen, {
        metrics: () => service.#metrics.text(evidence.count, webhooks?.waitingCount ?? 0),
        isAlive: () => now() - service.#lookedMs < silenceMsMax,
      });
    }
    if (webhooks !== null) service.#timer = setInterval(() => void service.#deliver(webhooks), DELIVERY_MS);
    return service;
  }

  /** Null: it does not listen. */
  get port(): number | null {
    return this.#listener?.port ?? null;
  }

  /** Receivers are told before the evidence is there: what ends in between is told again. @throws CliError */
  looked(look: MonitorLook): void {
    if (this.#failure !== null) throw this.#failure;
    const { now, evidence, webhooks, apiUrls } = this.#options;
    const timestamp = new Date(now()).toISOString();
    for (const { node, ...alarm } of look.alarms) {
      const seen = { ...alarm, apiUrl: apiUrls[node] ?? "" };
      if (evidence.has(seen)) continue;
      webhooks?.add(alarmEvent(seen, timestamp));
      evidence.keep(seen, timestamp);
    }
    for (const origin of look.origins) {
      const event = headEvent(origin, timestamp);
      if (event !== null) webhooks?.add(event);
    }
    this.#metrics.looked(look, now());
    this.#lookedMs = now();
  }

  /** A node has refused to show its log, or has shown another cluster. */
  refused(): void {
    this.#metrics.refused();
    this.#lookedMs = this.#options.now();
  }

  close(): void {
    this.#listener?.close();
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  async #deliver(webhooks: Webhooks): Promise<void> {
    try {
      await webhooks.deliver();
    } catch (error) {
      // The queue cannot be kept: the next look ends the watch with this.
      this.#failure = error instanceof Error ? error : new Error(String(error));
    }
  }
}

function alarmEvent(alarm: SeenAlarm, timestamp: string): WebhookEvent {
  const { code, originFingerprint, apiUrl, detail, evidence } = alarm;
  const content = { code, origin_fingerprint: originFingerprint, api_url: apiUrl, detail, notes: evidence };
  return { id: `alarm_${alarmName(alarm)}`, type: "log.alarm", timestamp, subject: null, content };
}

/** Null: the tree has not grown. */
function headEvent(origin: MonitorLook["origins"][number], timestamp: string): WebhookEvent | null {
  const { originFingerprint, treeSize, previousTreeSize, checkpoint } = origin;
  if (checkpoint === null || treeSize === previousTreeSize) return null;
  const content = {
    origin_fingerprint: originFingerprint,
    tree_size: treeSize,
    previous_tree_size: previousTreeSize,
    root_hash: checkpoint.rootHash,
  };
  const id = `head_${originFingerprint}_${treeSize}`;
  return { id, type: "log.head", timestamp, subject: `head ${originFingerprint}`, content };
}
