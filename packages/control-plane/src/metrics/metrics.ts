import { statfs } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Registry, collectDefaultMetrics } from "prom-client";
import type { Tracer } from "@event-anchoring/telemetry";
import type { ControlPlaneNode } from "../node/node.ts";
import { upkeepMetrics } from "./upkeep-metrics.ts";
import { PREFIX, scrapedGauge, scrapedTotal } from "./scraped.ts";
import { scrubMetrics } from "./scrub-metrics.ts";
import { PEER_OFFENCES } from "../session/peer-offences.ts";

/** What is measured of this process and not of its node. */
export interface ProcessMeasures {
  /** null: nothing is traced. */
  readonly tracer: Pick<Tracer, "counts"> | null;
  /** A file or folder on each volume that this process writes to, by what the volume is for. */
  readonly volumes: Readonly<Record<string, string>>;
}

/** Every metric of this process, declared once and read from the node when it is scraped. */
export function createMetrics(
  node: ControlPlaneNode,
  measures: ProcessMeasures = { tracer: null, volumes: {} },
): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: `${PREFIX}control_plane_` });
  // Gauges that go by the name of counters; what they add up stands beside them.
  for (const what of ["handles", "requests", "resources"]) {
    registry.removeSingleMetric(`${PREFIX}control_plane_nodejs_active_${what}_total`);
  }
  const gauge = (name: string, help: string, read: () => number): void => scrapedGauge(registry, name, help, read);
  gauge(
    "prime_root_thk_sync_error",
    "1 while this node cannot show that its trust root is the newest",
    () => node.rootSync.gauges().syncError,
  );
  gauge(
    "prime_root_thk_last_sync_success_timestamp_seconds",
    "When a quorum last confirmed that this node's trust root is the newest; 0 before the first time",
    () => node.rootSync.gauges().lastSuccessTimestampS,
  );
  gauge(
    "tls_certificate_expiry_timestamp_seconds",
    "When the certificate that this node shows its peers expires; 0 while it has no network",
    () => (node.network?.tlsExpiresMs() ?? 0) / 1000,
  );
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  gauge(
    "control_plane_loop_delay_p99_seconds",
    "99th percentile of the event loop's delay since the last scrape",
    () => {
      const seconds = delay.percentile(99) / 1e9;
      delay.reset();
      return seconds;
    },
  );
  for (const metric of node.timings.metrics) registry.registerMetric(metric);
  spanMetrics(measures.tracer, registry);
  volumeMetrics(measures.volumes, registry);
  raftMetrics(node, gauge);
  certificationMetrics(node, gauge);
  membershipMetrics(node, gauge);
  upkeepMetrics(node, gauge);
  failingMetric(node, registry);
  signatureMetrics(node, registry);
  decisionMetrics(node, registry);
  transportMetrics(node, registry);
  offenceMetrics(node, registry);
  if (node.scrub !== null) scrubMetrics(node.scrub, registry);
  return registry;
}

function spanMetrics(tracer: ProcessMeasures["tracer"], registry: Registry): void {
  const spans = {
    name: "control_plane_spans_total",
    help: "Spans that ended, by what became of them; 0 while nothing is traced",
    labels: ["outcome"],
  } as const;
  scrapedTotal(registry, spans, () => {
    const { exported = 0, dropped = 0, failed = 0 } = tracer?.counts() ?? {};
    return [
      [{ outcome: "exported" }, exported],
      [{ outcome: "dropped" }, dropped],
      [{ outcome: "failed" }, failed],
    ];
  });
}

function volumeMetrics(volumes: ProcessMeasures["volumes"], registry: Registry): void {
  const made: Gauge<"volume"> = new Gauge({
    name: `${PREFIX}volume_free_bytes`,
    help: "What this process may still write on a volume; not there while the volume does not answer",
    labelNames: ["volume"],
    registers: [registry],
    collect: async () => {
      made.reset();
      await Promise.all(
        Object.entries(volumes).map(async ([volume, path]) => {
          const free = await freeBytes(path);
          if (free !== null) made.set({ volume }, free);
        }),
      );
    },
  });
}

/** A volume that is gone is named by the check that it fails, and must not cost the scrape. */
async function freeBytes(path: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}

type AddGauge = (name: string, help: string, read: () => number) => void;

function raftMetrics(node: ControlPlaneNode, gauge: AddGauge): void {
  gauge("raft_is_leader", "1 while this node leads", () => (node.session?.isLeader() === true ? 1 : 0));
  gauge("raft_has_leader", "1 while this node knows a leader", () => (node.session?.leaderNodeId() ? 1 : 0));
  gauge("raft_term", "Raft term", () => node.session?.raftStatus().term ?? 0);
  gauge(
    "raft_commit_index",
    "Highest log index known to be committed",
    () => node.session?.raftStatus().commitIndex ?? 0,
  );
  gauge("raft_applied_index", "Highest log index applied", () => node.session?.state.appliedIndex ?? 0);
  gauge("raft_last_index", "Highest log index in this node's log", () => node.session?.raftStatus().lastIndex ?? 0);
  gauge("serving", "1 while this node serves", () => (node.status().serving.state === "running" ? 1 : 0));
  gauge("leader_queue_commands", "Commands waiting for an entry, on the leader", () => {
    return node.session?.leaderQueue.depth.commands ?? 0;
  });
  gauge("leader_queue_bytes", "Bytes of commands waiting for an entry, on the leader", () => {
    return node.session?.leaderQueue.depth.bytes ?? 0;
  });
  gauge("submissions_open", "Commands of this node's clients that are not answered yet", () => {
    return node.session?.proposals.openCount ?? 0;
  });
}

function certificationMetrics(node: ControlPlaneNode, gauge: AddGauge): void {
  gauge("uncovered_leaves", "Applied leaves that no certificate held here covers", () => {
    return node.session?.certifier.uncovered().leaves ?? 0;
  });
  gauge("uncovered_age_seconds", "Age of the oldest certify point without a certificate", () => {
    return (node.session?.certifier.uncovered().oldestMs ?? 0) / 1000;
  });
  gauge("leaves", "Leaves in all trees of this node", () => node.session?.state.nextSequence ?? 0);
  gauge("contradicting_peers", "Peers whose tree or effect chain differed from this node's in the last 10 s", () => {
    return node.session?.truth.view().differing.length ?? 0;
  });
  gauge("named_signers", "Active nodes whose key has signed two roots of one size", () => {
    return node.session?.truth.view().named.length ?? 0;
  });
  gauge("contradicted_origins", "Origins of which a certificate exists that contradicts this node's", () => {
    return node.session?.truth.view().origins.length ?? 0;
  });
  gauge("evidence_files", "Files of evidence that this node keeps", () => {
    return node.session?.truth.view().evidenceFiles ?? 0;
  });
  gauge("clock_ahead_seconds", "How far this node's clock is ahead of the cluster's median", () => {
    return (node.session?.clockGuard.aheadOfMedianMs() ?? 0) / 1000;
  });
  gauge("clock_behind_seconds", "How far this node's clock is behind the cluster's median", () => {
    return (node.session?.clockGuard.behindMedianMs() ?? 0) / 1000;
  });
}

function membershipMetrics(node: ControlPlaneNode, gauge: AddGauge): void {
  gauge("trust_root_version", "Newest trust root applied on this node", () => node.session?.trustRoot().version ?? 0);
  gauge("trust_root_expiry_timestamp_seconds", "When the newest trust root stops being fresh", () => {
    return node.session?.trustRoot().expiresS ?? 0;
  });
  gauge("group_voters", "Voters of the group, as this node knows it", () => {
    return node.session?.membership.confState.voters.length ?? 0;
  });
  gauge("group_learners", "Learners of the group, as this node knows it", () => {
    return node.session?.membership.confState.learners.length ?? 0;
  });
  gauge("membership_pending", "1 while the group is not yet as the trust root asks; only the leader knows", () => {
    return node.session?.isLeader() === true && node.session.membership.view().pending !== null ? 1 : 0;
  });
  gauge("own_key_missing", "1 while the trust root names a key of this node that is not on it", () => {
    return node.session?.membership.isKeyMissing() === true ? 1 : 0;
  });
  gauge("may_cosign", "1 while this node's cosignatures count and the key for them is here", () => {
    return node.session?.membership.maySign() === true ? 1 : 0;
  });
}

/** What /readyz names, as labels of a closed set. */
function failingMetric(node: ControlPlaneNode, registry: Registry): void {
  const made: Gauge<"check"> = new Gauge({
    name: `${PREFIX}failing_check`,
    help: "1 for each check that keeps this node from serving",
    labelNames: ["check"],
    registers: [registry],
    collect: () => {
      made.reset();
      for (const { check } of node.status().serving.failing) made.set({ check }, 1);
    },
  });
}

function signatureMetrics({ signatures }: ControlPlaneNode, registry: Registry): void {
  const verifications = {
    name: "signature_verifications_total",
    help: "Ed25519 signatures verified, by where: in the thread pool on arrival, or on the event loop",
    labels: ["where"],
  } as const;
  scrapedTotal(registry, verifications, () => {
    const { threadPool, eventLoop } = signatures.counts;
    return [
      [{ where: "thread_pool" }, threadPool.count],
      [{ where: "event_loop" }, eventLoop.count],
    ];
  });
  const seconds = {
    name: "signature_verification_seconds_total",
    help: "Time spent on verifying signatures, by where; in the thread pool with the wait for a thread",
    labels: ["where"],
  } as const;
  scrapedTotal(registry, seconds, () => {
    const { threadPool, eventLoop } = signatures.counts;
    return [
      [{ where: "thread_pool" }, threadPool.ms / 1000],
      [{ where: "event_loop" }, eventLoop.ms / 1000],
    ];
  });
  const remembered = {
    name: "signature_verdicts_remembered_total",
    help: "Verdicts that were there already when they were asked for",
    labels: [],
  } as const;
  scrapedTotal(registry, remembered, () => [[{}, signatures.counts.remembered]]);
  const failed = {
    name: "signature_verifications_failed_total",
    help: "Verifications that the thread pool gave back without a verdict",
    labels: [],
  } as const;
  scrapedTotal(registry, failed, () => [[{}, signatures.counts.failed]]);
}

function decisionMetrics({ decisions }: ControlPlaneNode, registry: Registry): void {
  const records = { name: "records_decided_total", help: "Leaves appended, by kind", labels: ["kind"] } as const;
  scrapedTotal(registry, records, () => [...decisions.records].map(([kind, count]) => [{ kind }, count] as const));
  const others = {
    name: "other_groups_decided_total",
    help: "Groups decided under an id of this node that hold something else than it has sent",
    labels: [],
  } as const;
  scrapedTotal(registry, others, () => [[{}, decisions.otherGroups]]);
  const replays = { name: "records_replayed_total", help: "Records that were there already", labels: [] } as const;
  scrapedTotal(registry, replays, () => [[{}, decisions.replays]]);
  const rejections = {
    name: "rejections_total",
    help: "Commands, and items of batches, that a rule refused, by code",
    labels: ["code"],
  } as const;
  scrapedTotal(registry, rejections, () =>
    [...decisions.rejections].map(([code, count]) => [{ code }, count] as const),
  );
}

/** Every peer and every offence from the start on: a first one is a rise from 0, which an alert can see. */
function offenceMetrics(node: ControlPlaneNode, registry: Registry): void {
  const { offences, known } = node;
  const peers = (): readonly string[] => {
    const { nodeId: self } = node.status();
    return known.newest.nodes.map(({ nodeId }) => nodeId).filter((nodeId) => nodeId !== self);
  };
  const counted = {
    name: "peer_offences_total",
    help: "What a peer sent that no node sends which keeps its promises; each time the peer is cut off for a while",
    labels: ["peer", "offence"],
  } as const;
  scrapedTotal(registry, counted, () =>
    peers().flatMap((peer) =>
      PEER_OFFENCES.map((offence) => [{ peer, offence }, offences.countOf(peer, offence)] as const),
    ),
  );
  const made: Gauge<"peer"> = new Gauge({
    name: `${PREFIX}peer_cut_off_seconds`,
    help: "How long this node will not listen to a peer from now on; 0: it listens",
    labelNames: ["peer"],
    registers: [registry],
    collect: () => {
      made.reset();
      for (const peer of peers()) made.set({ peer }, offences.cutOffMs(peer) / 1000);
    },
  });
}

/** What the transport counts; it starts anew with each session, so totals are carried over. */
function transportMetrics(node: ControlPlaneNode, registry: Registry): void {
  const last = new Map<string, number>();
  const made: Counter = new Counter({
    name: `${PREFIX}transport_events_total`,
    help: "Events of the private network, by event, peer and reason",
    labelNames: ["event", "peer", "reason"],
    registers: [registry],
    collect: () => {
      for (const { event, peer, reason, value } of node.network?.counters() ?? []) {
        const key = JSON.stringify([event, peer, reason]);
        const before = last.get(key) ?? 0;
        last.set(key, value);
        made.inc({ event, peer, reason }, value >= before ? value - before : value);
      }
    },
  });
}

/** The private scrape listener; null settings mean none. */
export function listenForScrapes(registry: Registry, address: { host: string; port: number }): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method !== "GET" || request.url !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { "content-type": registry.contentType }).end(text),
      (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.message : "scrape failed"),
    );
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address.port, address.host, () => resolve(server));
  });
}
