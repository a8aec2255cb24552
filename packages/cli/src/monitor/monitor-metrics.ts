import { Counter, Gauge, Registry } from "prom-client";
import type { MonitorLook } from "@event-anchoring/sdk";

/** What is counted when it is asked for. */
interface Held {
  readonly evidenceFiles: number;
  readonly webhooksWaiting: number;
  readonly leavesUnread: number;
}

/** What a watch has seen, for Prometheus. Labels are addresses of the command line, and origins of the trust root. */
export class MonitorMetrics {
  readonly #registry = new Registry();
  readonly #apiUrls: readonly string[];
  readonly #looks = new Counter({
    name: "anchoring_monitor_looks_total",
    help: "Looks at all nodes: consistent, alarm, or refused by a node",
    labelNames: ["outcome"],
    registers: [this.#registry],
  });
  readonly #nodeSeen = new Gauge({
    name: "anchoring_monitor_node_last_answer_timestamp_seconds",
    help: "When a node has last shown its log, Unix time",
    labelNames: ["node"],
    registers: [this.#registry],
  });
  readonly #treeSize = new Gauge({
    name: "anchoring_monitor_tree_size",
    help: "Leaves in the largest tree that was seen of an origin",
    labelNames: ["origin"],
    registers: [this.#registry],
  });
  readonly #trustRoot = new Gauge({
    name: "anchoring_monitor_trust_root_version",
    help: "The highest version of the trust root that was seen",
    registers: [this.#registry],
  });
  readonly #evidence = new Gauge({
    name: "anchoring_monitor_evidence_files",
    help: "Alarms that no person has looked at: files in the evidence folder",
    registers: [this.#registry],
  });
  readonly #webhooks = new Gauge({
    name: "anchoring_monitor_webhooks_waiting",
    help: "Webhooks that no receiver has taken yet",
    registers: [this.#registry],
  });

  readonly #unread = new Gauge({
    name: "anchoring_monitor_leaves_unread",
    help: "Leaves of verified heads that were not read for revocations yet",
    registers: [this.#registry],
  });
  readonly #readAt = new Gauge({
    name: "anchoring_monitor_leaves_read_timestamp_seconds",
    help: "When all leaves of the newest heads had last been read for revocations, Unix time; 0: they are not read",
    registers: [this.#registry],
  });
  readonly #revocations = new Counter({
    name: "anchoring_monitor_revocations_total",
    help: "Revocations that touch named entities",
    registers: [this.#registry],
  });

  constructor(apiUrls: readonly string[]) {
    this.#apiUrls = apiUrls;
    for (const outcome of ["consistent", "alarm", "refused"]) this.#looks.inc({ outcome }, 0);
    for (const node of apiUrls) this.#nodeSeen.set({ node }, 0);
  }

  looked({ alarms, unanswered, origins, trustRootVersion }: MonitorLook, nowMs: number): void {
    this.#looks.inc({ outcome: alarms.length > 0 ? "alarm" : "consistent" });
    const silent = new Set(unanswered.map(({ node }) => node));
    for (const [at, node] of this.#apiUrls.entries()) {
      if (!silent.has(at)) this.#nodeSeen.set({ node }, nowMs / 1000);
    }
    for (const { originFingerprint: origin, treeSize } of origins) this.#treeSize.set({ origin }, treeSize);
    if (trustRootVersion !== null) this.#trustRoot.set(trustRootVersion);
  }

  refused(): void {
    this.#looks.inc({ outcome: "refused" });
  }

  /** All leaves up to heads that were verified have been read. */
  read(nowMs: number): void {
    this.#readAt.set(nowMs / 1000);
  }

  revoked(): void {
    this.#revocations.inc();
  }

  /** In the text format of Prometheus. */
  async text({ evidenceFiles, webhooksWaiting, leavesUnread }: Held): Promise<string> {
    this.#evidence.set(evidenceFiles);
    this.#webhooks.set(webhooksWaiting);
    this.#unread.set(leavesUnread);
    return this.#registry.metrics();
  }
}
