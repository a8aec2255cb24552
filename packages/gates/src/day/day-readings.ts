import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { scrapeOf } from "@event-anchoring/testkit/clients";
import type { NodeFlags } from "@event-anchoring/dev-cluster";
import { nodeFiles } from "@event-anchoring/testkit/cluster";
import { clusterGroups, processesOf, readCpu } from "@event-anchoring/testkit/overload";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import type { ProcessGroup } from "@event-anchoring/testkit/overload";
import { countersOf } from "./day-counters.ts";
import type { Counters } from "./day-counters.ts";
import { toldOf } from "./process-told.ts";

const KB = 1024;
/** What `docs/operating/sizing.md` counts for a row of the raft log beside its payload. */
const ROW_OVERHEAD = 170;

const SIZES_SQL = `
  SELECT (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = 'state' AND c.relkind = 'r') AS tables,
         (SELECT sum(octet_length(payload) + ${ROW_OVERHEAD}) FROM node.raft_log) AS log,
         pg_total_relation_size('node.raft_log') AS log_table,
         (SELECT max(sequence) + 1 FROM state.anchors) AS anchors,
         (SELECT count(*) FROM state.origins) AS origins`;

/** Names of what is read, which the judge's steps name too. */
export const SIZES = {
  apiMemory: "memory of api processes",
  controlPlaneMemory: "memory of control planes",
  postgresMemory: "memory of Postgres",
  tables: "tables for each anchor",
  log: "raft log",
  logTable: "table of the raft log",
  wal: "WAL",
  promises: "promise files for each origin",
} as const;

/** Whose processor time is read, as it is told; the kernel's for them apart. Together that is all a node takes. */
const PROCESSES = {
  api: "api processes",
  control_plane: "control planes",
  postgres: "Postgres",
} as const;

interface Tables {
  readonly tables: number;
  readonly anchors: number;
}

/** Reads memory and disk of the nodes with which a cluster began; all figures are sums over these. */
export class DayReadings {
  readonly #setup: TestCluster;
  readonly #nodeIds: readonly string[];
  readonly #sessions: readonly SqlSession[];
  readonly #empty: Tables;

  private constructor(setup: TestCluster, nodeIds: readonly string[], sessions: readonly SqlSession[], empty: Tables) {
    this.#setup = setup;
    this.#nodeIds = nodeIds;
    this.#sessions = sessions;
    this.#empty = empty;
  }

  /** @param setup nothing has been anchored yet: what its tables take now is not counted to any anchor */
  static async open(setup: TestCluster): Promise<DayReadings> {
    const nodeIds = setup.cluster.file.nodes.map(({ id }) => id);
    const sessions = await Promise.all(nodeIds.map((id) => SqlSession.open(nodeFiles(setup.cluster, id).databaseUrl)));
    const { tables, anchors } = await sumsOf(sessions);
    return new DayReadings(setup, nodeIds, sessions, { tables, anchors });
  }

  /** What a slice's sizes are. Memory is left out while a process is down. */
  async sizes(): Promise<Readonly<Record<string, number>>> {
    const { tables, anchors, log, logTable, origins } = await sumsOf(this.#sessions);
    const promises = this.#sumOverNodes(({ promiseFile }) => statSync(promiseFile).size);
    return {
      ...(await this.#memory()),
      [SIZES.tables]: (tables - this.#empty.tables) / (anchors - this.#empty.anchors),
      [SIZES.log]: log,
      [SIZES.logTable]: logTable,
      [SIZES.wal]: this.#sumOverNodes(({ databaseDir }) => folderBytes(join(databaseDir, "pg_wal"))),
      // They hold a head for each origin that the cluster ever had.
      [SIZES.promises]: promises / origins,
    };
  }

  /** Processor time that the nodes' processes have taken, by what took it; NaN while one is down. */
  processorMs(): Readonly<Record<string, number>> {
    const entries = this.#nodeIds.map((id) => this.#setup.entry(id));
    const reading = isAnyDown(entries) ? null : readCpu(clusterGroups(entries));
    const told = Object.entries(PROCESSES).flatMap(([kind, name]) => {
      const [ms, kernelMs] = [reading?.ms[kind] ?? NaN, reading?.kernelMs[kind] ?? NaN];
      return [[name, ms - kernelMs] as const, [`the kernel for ${name}`, kernelMs] as const];
    });
    return Object.fromEntries(told);
  }

  /** What the nodes have counted; null if one does not tell. */
  async counters(): Promise<Counters | null> {
    const urls = this.#nodeIds.map((id) => this.#setup.entry(id).metrics_url);
    const scrapes = (await Promise.all(urls.map(scrapeOf))).filter((scrape) => scrape !== null);
    return scrapes.length < urls.length ? null : countersOf(scrapes);
  }

  async close(): Promise<void> {
    await Promise.all(this.#sessions.map((session) => session.close()));
  }

  async #memory(): Promise<Readonly<Record<string, number>>> {
    const entries = this.#nodeIds.map((id) => this.#setup.entry(id));
    if (isAnyDown(entries)) return {};
    const scrapes = await Promise.all(entries.map(({ metrics_url: url }) => scrapeOf(url)));
    const resident = (name: keyof NodeFlags): number => {
      const bytes = scrapes.map((scrape) => toldOf(scrape, name)?.residentBytes ?? NaN);
      return bytes.reduce((sum, each) => sum + each, 0);
    };
    const postgres = clusterGroups(entries).find(({ kind }) => kind === "postgres");
    const memory = {
      [SIZES.apiMemory]: resident("api"),
      [SIZES.controlPlaneMemory]: resident("control-plane"),
      // Shared buffers are of a fixed size, and fill as data is read.
      [SIZES.postgresMemory]: anonymousBytes(postgres),
    };
    // One that begins or ends meanwhile tells nothing.
    return Object.fromEntries(Object.entries(memory).filter(([, bytes]) => !Number.isNaN(bytes)));
  }

  #sumOverNodes(of: (files: ReturnType<typeof nodeFiles>) => number): number {
    return this.#nodeIds.reduce((sum, id) => sum + of(nodeFiles(this.#setup.cluster, id)), 0);
  }
}

function isAnyDown(entries: readonly ReturnType<TestCluster["entry"]>[]): boolean {
  return entries.some(({ pids }) => Object.values(pids).includes(null));
}

async function sumsOf(sessions: readonly SqlSession[]) {
  const rows = (await Promise.all(sessions.map((session) => session.rows(SIZES_SQL)))).flat();
  const sum = (name: string): number => rows.reduce((total, row) => total + Number(row[name] ?? 0), 0);
  // Every node holds every anchor and every origin: they are counted once for each node, as the tables are.
  const [tables, log, logTable] = [sum("tables"), sum("log"), sum("log_table")];
  return { tables, log, logTable, anchors: sum("anchors"), origins: sum("origins") };
}

function anonymousBytes(group: ProcessGroup | undefined): number {
  const pids = group === undefined ? [] : processesOf(group);
  return pids.reduce((sum, pid) => sum + anonymousKb(pid) * KB, 0);
}

function anonymousKb(pid: number): number {
  try {
    return Number(/^RssAnon:\s*(\d+) kB/mu.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0);
  } catch {
    // A backend that has ended since it was listed.
    return 0;
  }
}

function folderBytes(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce(
    (sum, file) => (file.isFile() ? sum + fileBytes(join(folder, file.name)) : sum),
    0,
  );
}

function fileBytes(path: string): number {
  // Postgres renames and removes segments meanwhile.
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
