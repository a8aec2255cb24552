import type { ClusterFileNode } from "@event-anchoring/dev-cluster";
import { scrapeOf } from "@event-anchoring/testkit/clients";
import { readMainThreadMs, readWakeUps, wakeUpsBetween } from "@event-anchoring/testkit/overload";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { Scrape } from "@event-anchoring/testkit/clients";
import type { ProcessGroup, WakeUps } from "@event-anchoring/testkit/overload";
import type { Counts } from "../figures/rows.ts";

/** What a cluster has counted up to a moment. */
export interface CountsReading {
  readonly leaderPid: number;
  readonly wakeUps: WakeUps;
  readonly totals: Omit<Counts, "answered" | "wakeUps">;
}

export interface CountedCluster {
  readonly nodes: readonly ClusterFileNode[];
  readonly leader: ClusterFileNode;
  readonly groups: readonly ProcessGroup[];
  /** One URL for each node's database; empty where they are not known. */
  readonly databaseUrls: readonly string[];
}

/** Null where a node does not tell, or is not on this machine. */
export async function readCounts(cluster: CountedCluster): Promise<CountsReading | null> {
  const { nodes, leader, groups, databaseUrls } = cluster;
  const leaderPid = leader.pids.control_plane;
  const [scrapes, transactions] = await Promise.all([scrapesOf(nodes), transactionsOf(databaseUrls)]);
  const own = scrapes.get(leader.id);
  const wakeUps = readWakeUps(groups);
  if (own === undefined || leaderPid === null || wakeUps === null) return null;
  const leaderLoopMs = readMainThreadMs(leaderPid);
  if (scrapes.size < nodes.length || leaderLoopMs === null) return null;
  const all = [...scrapes.values()];
  return {
    leaderPid,
    wakeUps,
    totals: {
      entries: own.sumOf("anchoring_raft_applied_index"),
      leaves: own.sumOf("anchoring_records_decided_total"),
      frames: sum(all.map((scrape) => scrape.sumOf("anchoring_transport_events_total", 'event="frame_sent"'))),
      frameBytes: sum(all.map((scrape) => scrape.sumOf("anchoring_transport_events_total", 'event="bytes_sent"'))),
      leaderSentBytes: own.sumOf("anchoring_transport_events_total", 'event="bytes_sent"'),
      leaderLoopMs,
      transactions,
    },
  };
}

/** Null when a reading is missing, or the leader is another process than before. */
export function countsBetween(
  before: CountsReading | null,
  after: CountsReading | null,
  answered: number,
): Counts | null {
  if (before === null || after === null || before.leaderPid !== after.leaderPid) return null;
  const [from, to] = [before.totals, after.totals];
  return {
    answered,
    entries: to.entries - from.entries,
    leaves: to.leaves - from.leaves,
    frames: to.frames - from.frames,
    frameBytes: to.frameBytes - from.frameBytes,
    leaderSentBytes: to.leaderSentBytes - from.leaderSentBytes,
    leaderLoopMs: to.leaderLoopMs - from.leaderLoopMs,
    transactions: to.transactions === null || from.transactions === null ? null : to.transactions - from.transactions,
    wakeUps: wakeUpsBetween(before.wakeUps, after.wakeUps),
  };
}

async function scrapesOf(nodes: readonly ClusterFileNode[]): Promise<ReadonlyMap<string, Scrape>> {
  const scraped = nodes.map(async ({ id, metrics_url: url }) => {
    const scrape = await scrapeOf(url);
    return scrape === null ? [] : [[id, scrape] as const];
  });
  return new Map((await Promise.all(scraped)).flat());
}

/**
 * A backend under load reports its transactions about once a second, so a count may lack those of the last second; the
 * count before lacks as many.
 */
async function transactionsOf(databaseUrls: readonly string[]): Promise<number | null> {
  if (databaseUrls.length === 0) return null;
  const counts = databaseUrls.map(async (url) => {
    const session = await SqlSession.open(url);
    try {
      const [row] = await session.rows(
        "SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()",
      );
      return Number(row?.["count"]);
    } finally {
      await session.close();
    }
  });
  return sum(await Promise.all(counts));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
