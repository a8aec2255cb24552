import { REVOCATION_AUTHORITIES, REVOCATION_REASONS, bytesToHex } from "@event-anchoring/protocol";
import type { MonitorLook, VerifiedCheckpoint } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { alarmName } from "./evidence-folder.ts";
import type { EvidenceFolder, SeenAlarm } from "./evidence-folder.ts";
import { MonitorListener } from "./monitor-listener.ts";
import type { ListenAddress } from "./monitor-listener.ts";
import { MonitorMetrics } from "./monitor-metrics.ts";
import type { LeafSource } from "./origin-leaves.ts";
import type { RevocationMemory } from "./revocation-memory.ts";
import { RevocationWatch } from "./revocation-watch.ts";
import type { SeenRevocation } from "./revocation-watch.ts";
import type { WebhookEvent, Webhooks } from "./webhooks.ts";

/** How often it is looked for webhooks that are due. */
const DELIVERY_MS = 1000;
/** Listed in one webhook, so that none is too large for its receiver. */
const ENTITIES_MAX = 100;
const RECORDS_MAX = 20;

/** Entities, and the leaves in which their revocations are looked for. */
export interface NamedEntities {
  readonly memory: RevocationMemory;
  readonly source: LeafSource;
}

export interface WatchOptions {
  readonly apiUrls: readonly string[];
  /** Null: nobody asks. */
  readonly listen: ListenAddress | null;
  readonly evidence: EvidenceFolder;
  /** Null: nobody is told. */
  readonly webhooks: Webhooks | null;
  /** Whose revocations receivers are told. Null: nobody's. */
  readonly named: NamedEntities | null;
  /** Told what went wrong, for the log. */
  readonly say: (text: string) => void;
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
  readonly #revocations: RevocationWatch | null;
  /** The newest, if they were not read yet. */
  #heads: readonly VerifiedCheckpoint[] = [];
  #reading: Promise<void> | null = null;

  private constructor(options: WatchOptions) {
    this.#options = options;
    this.#metrics = new MonitorMetrics(options.apiUrls);
    this.#lookedMs = options.now();
    this.#revocations = this.#watchOf(options);
  }

  /** @throws CliError for an address that cannot be listened at */
  static async start(options: WatchOptions): Promise<WatchService> {
    const service = new WatchService(options);
    const { listen, evidence, webhooks, silenceMsMax, now } = options;
    if (listen !== null) {
      service.#listener = await MonitorListener.open(listen, {
        metrics: () =>
          service.#metrics.text({
            evidenceFiles: evidence.count,
            webhooksWaiting: webhooks?.waitingCount ?? 0,
            leavesUnread: service.#revocations?.unread ?? 0,
          }),
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
    this.#follow(look);
  }

  /** A node has refused to show its log, or has shown another cluster. */
  refused(): void {
    this.#metrics.refused();
    this.#lookedMs = this.#options.now();
  }

  async close(): Promise<void> {
    this.#listener?.close();
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#revocations?.stop();
    await this.#reading;
  }

  #watchOf({ named, webhooks, now }: WatchOptions): RevocationWatch | null {
    if (named === null || webhooks === null) return null;
    this.#metrics.read(now());
    const tell = (seen: SeenRevocation): void => {
      webhooks.add(revocationEvent(seen, new Date(now()).toISOString()));
      this.#metrics.revoked();
    };
    return new RevocationWatch({ ...named, hasRoom: () => webhooks.hasRoom, tell });
  }

  /** Leaves are read beside the looks, so that no alarm waits for them. Heads count if nothing speaks against them. */
  #follow({ alarms, origins }: MonitorLook): void {
    const heads = origins.flatMap(({ checkpoint }) => (checkpoint === null ? [] : [checkpoint]));
    if (this.#revocations === null || alarms.length > 0 || heads.length < origins.length) return;
    this.#heads = heads;
    this.#reading ??= this.#readOn(this.#revocations);
  }

  async #readOn(revocations: RevocationWatch): Promise<void> {
    const { now, say } = this.#options;
    try {
      while (this.#heads.length > 0) {
        const heads = this.#heads;
        this.#heads = [];
        await revocations.read(heads);
        if (revocations.unread === 0) this.#metrics.read(now());
      }
    } catch (error) {
      if (error instanceof CliError && error.exitCode !== EXIT.usage) say(error.message);
      else this.#failure = error instanceof Error ? error : new Error(String(error));
    } finally {
      this.#reading = null;
    }
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

function revocationEvent({ anchorId, leaf, touched }: SeenRevocation, timestamp: string): WebhookEvent {
  const content = {
    origin_fingerprint: bytesToHex(leaf.originFingerprint),
    anchor_id: anchorId,
    sequence: leaf.sequence,
    accepted_at: new Date(leaf.acceptedMs).toISOString(),
    target_anchor_id: bytesToHex(leaf.targetAnchorId),
    reason: REVOCATION_REASONS[leaf.reason],
    authority: REVOCATION_AUTHORITIES[leaf.authority],
    suspect_since: leaf.suspectSince,
    entities_count: touched.size,
    entities: [...touched].slice(0, ENTITIES_MAX).map(([entity, records]) => ({
      entity_fingerprint: entity,
      records_count: records.length,
      records: records.slice(0, RECORDS_MAX),
    })),
  };
  return { id: `revocation_${anchorId}`, type: "log.revocation", timestamp, subject: null, content };
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
