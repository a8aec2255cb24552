import { nodeFiles } from "../cluster/node-files.ts";
import { SqlSession } from "../postgres/sql-session.ts";
import { until } from "../until.ts";
import type { FaultyCluster } from "./faulty-cluster.ts";
import { never } from "./nemesis.ts";
import type { Nemesis, Roles } from "./nemesis.ts";
import { replaced } from "./process-nemeses.ts";
import { signalAll } from "./process-tree.ts";

const leader = ({ leader: id }: Roles): string => id;
const follower = ({ followers: [id] }: Roles): string => id;

/** `SIGQUIT`: an immediate shutdown, without a checkpoint. The supervisor starts the server again at once. */
function postgresEnds(name: string, who: (roles: Roles) => string, signal: NodeJS.Signals): Nemesis {
  return {
    name,
    missing: never,
    inject: async (cluster, roles) => {
      const nodeId = who(roles);
      const { postgres } = cluster.entry(nodeId).pids;
      if (postgres === null) throw new Error(`Postgres of ${nodeId} does not run`);
      signalAll([postgres], signal);
      return () => replaced(cluster, nodeId, "postgres", postgres);
    },
  };
}

/** Down for as long as the fault lasts. */
function postgresDown(name: string, who: (roles: Roles) => string): Nemesis {
  return {
    name,
    missing: never,
    inject: async ({ cluster }, roles) => {
      const node = cluster.node(who(roles));
      await node.stopPostgres();
      return () => node.startPostgres();
    },
  };
}

const COMMITS_MET = 3;
const MEET_TIMEOUT_MS = 120_000;

/** Backends that wait for their commit to reach the disk, in the session of the owner. */
const COMMITTING = `
  SELECT pid FROM pg_stat_activity
  WHERE usename = current_user AND pid <> pg_backend_pid() AND state = 'active'
    AND lower(wait_event) IN ('walsync', 'walwrite', 'wal_sync')`;

/** Asks until so many backends were met in the middle of a commit, and does something to each. */
async function meetCommits(cluster: FaultyCluster, nodeId: string, meet: (pids: string) => string): Promise<void> {
  const session = await SqlSession.open(nodeFiles(cluster.cluster, nodeId).databaseUrl);
  let met = 0;
  try {
    await until(
      `${COMMITS_MET} commits of ${nodeId} are met under way`,
      async () => {
        // Many looks at a time: a commit takes less than the way to ask.
        for (let look = 0; look < 50 && met < COMMITS_MET; look++) met += (await session.rows(meet(COMMITTING))).length;
        return met >= COMMITS_MET;
      },
      MEET_TIMEOUT_MS,
    );
  } finally {
    await session.close();
  }
}

function commitsBroken(name: string, who: (roles: Roles) => string): Nemesis {
  return {
    name,
    missing: never,
    inject: async (cluster, roles) => {
      await meetCommits(cluster, who(roles), (pids) => `SELECT pg_terminate_backend(pid) FROM (${pids}) AS met`);
      return async () => undefined;
    },
  };
}

/** Ends one backend as the kernel would when memory runs out: the server then ends all of them, and recovers. */
function backendKilled(name: string, who: (roles: Roles) => string): Nemesis {
  return {
    name,
    missing: never,
    inject: async (cluster, roles) => {
      const session = await SqlSession.open(nodeFiles(cluster.cluster, who(roles)).databaseUrl);
      try {
        const rows = await session.rows(
          "SELECT pid FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()",
        );
        const pids = rows.map(({ pid }) => Number(pid));
        if (pids.length === 0) throw new Error("the control plane has no session");
        signalAll(pids.slice(0, 1), "SIGKILL");
      } finally {
        // The server ends this session too, in the middle of its farewell or before.
        await session.close().catch(() => undefined);
      }
      return async () => undefined;
    },
  };
}

/** fsync and fdatasync fail with EIO in one process of a node. */
function syncFails(name: string, who: (roles: Roles) => string, process: "postgres" | "control_plane"): Nemesis {
  return {
    name,
    missing: ({ switchesMissing }) => switchesMissing,
    inject: async ({ switches }, roles) => {
      const target = `${who(roles)} ${process}`;
      switches?.setSyncFails(target, true);
      return async () => switches?.setSyncFails(target, false);
    },
  };
}

/** Databases that end, sessions that break in mid-commit, disks that do not keep what they are given. */
export const STORAGE_NEMESES: readonly Nemesis[] = [
  postgresEnds("the leader's Postgres is killed", leader, "SIGKILL"),
  postgresEnds("a follower's Postgres is killed", follower, "SIGKILL"),
  postgresEnds("the leader's Postgres is stopped without a checkpoint and started at once", leader, "SIGQUIT"),
  postgresEnds("a follower's Postgres is stopped and started at once", follower, "SIGINT"),
  postgresDown("the leader's Postgres is down", leader),
  postgresDown("a follower's Postgres is down", follower),
  commitsBroken("sessions of the leader are ended in mid-commit", leader),
  commitsBroken("sessions of a follower are ended in mid-commit", follower),
  backendKilled("a backend of the leader's Postgres is killed", leader),
  syncFails("the leader's Postgres cannot fsync", leader, "postgres"),
  syncFails("a follower's Postgres cannot fsync", follower, "postgres"),
  syncFails("the leader cannot fsync its promises", leader, "control_plane"),
  syncFails("a follower cannot fsync its promises", follower, "control_plane"),
];
