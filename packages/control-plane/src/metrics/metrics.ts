import { statfs } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import { Counter, Gauge, Registry } from "prom-client";
import type { NodeStatus } from "@event-anchoring/control-contract";
import { type Tracer, collectProcessMetrics } from "@event-anchoring/telemetry";
import type { ControlPlaneNode } from "../node/node.ts";
import { PREFIX, scrapedGauge, scrapedTotal } from "./scraped.ts";
import { scrubMetrics } from "./scrub-metrics.ts";
import { ownWitnessMetrics } from "./own-witness-metrics.ts";
import type { Witness } from "../witness/witness.ts";
import type { SessionView } from "../session/view.ts";
import { PEER_OFFENCES } from "../session/peer-offences.ts";
import { witnessMetrics } from "./witness-metrics.ts";

/** What is measured of this process and not of its node. */
export interface ProcessMeasures {
  /** null: nothing is traced. */
  readonly tracer: Pick<Tracer, "counts"> | null;
  /** null: the node witnesses no other logs. */
  readonly witness?: Witness | null;
  /** A file or folder on each volume that this process writes to, by what the volume is for. */
  readonly volumes: Readonly<Record<string, string>>;
}

type AddGauge = (name: string, help: string, read: () => number) => void;

/** Every metric of this process, declared once and read from the node when it is scraped. */
export function createMetrics(
  node: ControlPlaneNode,
  measures: ProcessMeasures = { tracer: null, volumes: {} },
): Registry {
  const registry = new Registry();
  collectProcessMetrics(registry, `${PREFIX}control_plane_`);
  const gauge: AddGauge = (name, help, read) => scrapedGauge(registry, name, help, read);
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
  for (const metric of node.timings.metrics) registry.registerMetric(metric);
  spanMetrics(measures.tracer, registry);
  volumeMetrics(measures.volumes, registry);
  const serving = oncePerTurn(() => node.status().serving);
  gauge("serving", "1 while this node serves", () => Number(serving().state === "running"));
  gauge("rules_known", "The highest rules that this program can decide by", () => node.ruleTable.max);
  const sessionGauge = sessionGauges(node, gauge);
  raftMetrics(sessionGauge);
  certificationMetrics(sessionGauge);
  membershipMetrics(sessionGauge);
  upkeepMetrics(sessionGauge);
  failingMetric(serving, registry);
  signatureMetrics(node, registry);
  countMetrics(node, registry);
  transportMetrics(node, registry);
  offenceMetrics(node, registry);
  witnessMetrics(node, registry);
  if (node.scrub !== null) scrubMetrics(node.scrub, registry);
  if (measures.witness) ownWitnessMetrics(measures.witness, registry);
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

/** A missing volume fails a check of its own, and must not fail the scrape. */
async function freeBytes(path: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}

type AddSessionGauge = (name: string, help: string, read: (session: SessionView) => number) => void;

/** Reads at most once for all metrics that are collected in one turn of the event loop. */
function oncePerTurn<Value>(read: () => Value): () => Value {
  let held: { readonly value: Value } | null = null;
  return () => {
    if (held === null) {
      held = { value: read() };
      setImmediate(() => (held = null));
    }
    return held.value;
  };
}

/** Gauges of the live session; each is 0 while there is none. */
function sessionGauges(node: ControlPlaneNode, gauge: AddGauge): AddSessionGauge {
  const current = oncePerTurn(() => node.session?.view() ?? null);
  return (name, help, read) =>
    gauge(name, help, () => {
      const session = current();
      return session === null ? 0 : read(session);
    });
}

function raftMetrics(gauge: AddSessionGauge): void {
  gauge("raft_is_leader", "1 while this node leads", ({ isLeader }) => Number(isLeader));
  gauge("raft_has_leader", "1 while this node knows a leader", ({ raft }) => Number(raft.leader !== null));
  gauge("raft_term", "Raft term", ({ raft }) => raft.term);
  gauge("raft_commit_index", "Highest log index known to be committed", ({ raft }) => raft.commitIndex);
  gauge("raft_applied_index", "Highest log index applied", ({ raft }) => raft.appliedIndex);
  gauge("written_index", "Highest log index whose effects are in the tables", ({ writtenIndex }) => writtenIndex);
  gauge("raft_last_index", "Highest log index in this node's log", ({ raft }) => raft.lastIndex);
  gauge("leader_queue_commands", "Commands waiting for an entry, on the leader", ({ queue }) => queue.commands);
  gauge("leader_queue_bytes", "Bytes of commands waiting for an entry, on the leader", ({ queue }) => queue.bytes);
  gauge(
    "submissions_open",
    "Commands of this node's clients that are not answered yet",
    ({ submissions }) => submissions,
  );
}

function certificationMetrics(gauge: AddSessionGauge): void {
  gauge("uncovered_leaves", "Applied leaves that no certificate held here covers", ({ uncovered }) => uncovered.leaves);
  gauge(
    "uncovered_age_seconds",
    "Age of the oldest certify point without a certificate",
    ({ uncovered }) => uncovered.oldestMs / 1000,
  );
  gauge("leaves", "Leaves in all trees of this node", ({ leaves }) => leaves);
  gauge(
    "contradicting_peers",
    "Peers whose tree or effect chain differed from this node's in the last 10 s",
    ({ contradictions }) => contradictions.differing.length,
  );
  gauge(
    "named_signers",
    "Active nodes whose key has signed two roots of one size",
    ({ contradictions }) => contradictions.named.length,
  );
  gauge(
    "contradicted_origins",
    "Origins of which a certificate exists that contradicts this node's",
    ({ contradictions }) => contradictions.origins.length,
  );
  gauge(
    "evidence_files",
    "Files of evidence that this node keeps",
    ({ contradictions }) => contradictions.evidenceFiles,
  );
  gauge(
    "clock_ahead_seconds",
    "How far this node's clock is ahead of the cluster's median",
    ({ clock }) => clock.aheadMs / 1000,
  );
  gauge(
    "clock_behind_seconds",
    "How far this node's clock is behind the cluster's median",
    ({ clock }) => clock.behindMs / 1000,
  );
}

function membershipMetrics(gauge: AddSessionGauge): void {
  gauge("trust_root_version", "Newest trust root applied on this node", ({ trustRoot }) => trustRoot.version);
  gauge(
    "trust_root_expiry_timestamp_seconds",
    "When the newest trust root stops being fresh",
    ({ trustRoot }) => trustRoot.expiresS,
  );
  gauge("group_voters", "Voters of the group, as this node knows it", ({ group }) => group.voters);
  gauge("group_learners", "Learners of the group, as this node knows it", ({ group }) => group.learners);
  gauge(
    "membership_pending",
    "1 while the group is not yet as the trust root asks; only the leader knows",
    ({ group }) => Number(group.isChanging),
  );
  gauge("own_key_missing", "1 while the trust root names a key of this node that is not on it", ({ group }) =>
    Number(group.isKeyMissing),
  );
  gauge("may_cosign", "1 while this node's cosignatures count and the key for them is here", ({ group }) =>
    Number(group.maySign),
  );
}

/** The log and its bounds, recorded certificates, and the rules by which entries are decided. */
function upkeepMetrics(gauge: AddSessionGauge): void {
  gauge(
    "log_entries_owed_to_erasures",
    "Entries in this node's log that an erasure has to drop",
    ({ log }) => log.owedEntries,
  );
  gauge("log_entries", "Entries in this node's log", ({ log }) => log.entries);
  gauge("log_bytes", "Bytes of this node's log: payloads, and 170 an entry", ({ log }) => log.bytes);
  gauge(
    "certificates_thinned",
    "Old certificates deleted since this node last loaded its tables",
    ({ thinned }) => thinned,
  );
  gauge("rules", "Rules by which this node decides the next entry", ({ rules }) => rules.inForce);
  gauge(
    "rules_holders",
    "Nodes by which the highest rules that this program knows are held back",
    ({ rules }) => rules.holders,
  );
}

/** What /readyz names, as labels of a closed set. */
function failingMetric(serving: () => NodeStatus["serving"], registry: Registry): void {
  const made: Gauge<"check"> = new Gauge({
    name: `${PREFIX}failing_check`,
    help: "1 for each check that keeps this node from serving",
    labelNames: ["check"],
    registers: [registry],
    collect: () => {
      made.reset();
      for (const { check } of serving().failing) made.set({ check }, 1);
    },
  });
}

function signatureMetrics({ signatures }: ControlPlaneNode, registry: Registry): void {
  const verifications = {
    name: "signature_verifications_total",
    help: "Ed25519 signatures verified, by where: in their thread on arrival, or on the event loop",
    labels: ["where"],
  } as const;
  scrapedTotal(registry, verifications, () => {
    const { thread, eventLoop } = signatures.counts;
    return [
      [{ where: "thread" }, thread.count],
      [{ where: "event_loop" }, eventLoop.count],
    ];
  });
  const seconds = {
    name: "signature_verification_seconds_total",
    help: "Time spent on verifying signatures, by where; in their thread with the wait for it",
    labels: ["where"],
  } as const;
  scrapedTotal(registry, seconds, () => {
    const { thread, eventLoop } = signatures.counts;
    return [
      [{ where: "thread" }, thread.ms / 1000],
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
    help: "Verifications that the thread gave back without a verdict",
    labels: [],
  } as const;
  scrapedTotal(registry, failed, () => [[{}, signatures.counts.failed]]);
}

function countMetrics({ counts }: ControlPlaneNode, registry: Registry): void {
  const records = { name: "records_decided_total", help: "Leaves appended, by kind", labels: ["kind"] } as const;
  scrapedTotal(registry, records, () => [...counts.records].map(([kind, count]) => [{ kind }, count] as const));
  const others = {
    name: "other_groups_decided_total",
    help: "Groups decided under an id of this node that hold something else than it has sent",
    labels: [],
  } as const;
  scrapedTotal(registry, others, () => [[{}, counts.otherGroups]]);
  const replays = { name: "records_replayed_total", help: "Records that were there already", labels: [] } as const;
  scrapedTotal(registry, replays, () => [[{}, counts.replays]]);
  const rejections = {
    name: "rejections_total",
    help: "Commands, and items of batches, that a rule refused, by code",
    labels: ["code"],
  } as const;
  scrapedTotal(registry, rejections, () => [...counts.rejections].map(([code, count]) => [{ code }, count] as const));
  const leaders = {
    name: "raft_leader_changes_total",
    help: "How often another node led than before, or none, as this node saw it",
    labels: [],
  } as const;
  scrapedTotal(registry, leaders, () => [[{}, counts.leaderChanges]]);
  const cosignatures = {
    name: "cosignatures_refused_total",
    help: "Cosignatures of a peer that count for nothing, because its key has not made them",
    labels: ["peer"],
  } as const;
  scrapedTotal(registry, cosignatures, () =>
    [...counts.refusedCosignatures].map(([peer, count]) => [{ peer }, count] as const),
  );
}

/**
 * Every peer and every offence has a series from the start: a first offence is a rise from 0, which an alert can see.
 */
function offenceMetrics(node: ControlPlaneNode, registry: Registry): void {
  const { offences, known } = node;
  const peers = (): readonly string[] => {
    return known.newest.nodes.map(({ nodeId }) => nodeId).filter((nodeId) => nodeId !== node.nodeId);
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
