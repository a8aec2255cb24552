/** A node's database as its control plane opens it: a real one, and the one that simulated machines have. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type OpenExport, type OpenStateHold, type OpenStorage, openStorage } from "@event-anchoring/control-plane";
import {
  NO_BUGS,
  Seeded,
  SimulatedDatabase,
  SimulatedProcess,
  SimulatedSnapshots,
  World,
} from "@event-anchoring/simulator";
import {
  type InstallSnapshotOptions,
  type InstalledSnapshot,
  type SignedStatePoint,
  StateHold,
  exportSnapshot,
  installSnapshot,
  migrate,
} from "@event-anchoring/store";
import { startTestPostgres } from "@event-anchoring/testkit/postgres";

export interface NodeDatabase {
  /** Nobody may have it open. */
  open(): Promise<OpenStorage>;
  openStateHold(): Promise<OpenStateHold>;
  exportSnapshot(point: SignedStatePoint): Promise<OpenExport>;
  installSnapshot(options: Omit<InstallSnapshotOptions, "url">): Promise<InstalledSnapshot>;
}

export interface DatabaseServer {
  /** An empty one. */
  create(): Promise<NodeDatabase>;
  close(): Promise<void>;
}

export async function postgresServer(): Promise<DatabaseServer> {
  const server = await startTestPostgres();
  const directory = mkdtempSync(join(tmpdir(), "anchoring-spool-"));
  return {
    create: async () => {
      const { url } = await server.createDatabase();
      await migrate(url, { readOnlyRole: server.readOnlyRole });
      return {
        open: () => openStorage({ url, readOnlyRole: server.readOnlyRole, onLost: () => {} }),
        openStateHold: () => StateHold.open(url),
        exportSnapshot: (point) => exportSnapshot({ url, directory, point }),
        installSnapshot: (options) => installSnapshot({ url, ...options }),
      };
    },
    close: async () => {
      await server.close();
      rmSync(directory, { recursive: true });
    },
  };
}

/** Time passes in its world while an answer is waited for. */
export async function simulatedServer(): Promise<DatabaseServer> {
  const world = new World();
  const random = new Seeded(1);
  const process = new SimulatedProcess(world, () => 0);
  const snapshots = new SimulatedSnapshots(random, NO_BUGS);
  const watcher = { onDurable: () => {} };
  return {
    create: async () => {
      const options = { world, random, bugs: NO_BUGS, systemIdentifier: "1", isFirst: false, watcher };
      const database = new SimulatedDatabase(options);
      return {
        open: async () => {
          const opened = await answered(
            world,
            database.open(process, () => {}),
          );
          const { log, ledger, identityStore } = opened;
          return {
            ...opened,
            log: waitedFor(world, log),
            ledger: waitedFor(world, ledger),
            identityStore: waitedFor(world, identityStore),
          };
        },
        openStateHold: async () => snapshots.hold(database),
        exportSnapshot: (point) => snapshots.export(GIVER, point, (state) => state),
        installSnapshot: (snapshot) =>
          answered(
            world,
            snapshots.install(database, snapshot, async () => {}),
          ),
      };
    },
    close: async () => {},
  };
}

const GIVER = { name: "giver", lives: () => true, compactedTo: () => 0 };

const STEP_MS = 1;

async function answered<T>(world: World, answer: Promise<T>): Promise<T> {
  const state = { isThere: false };
  const end = (): void => {
    state.isThere = true;
  };
  answer.then(end, end);
  while (!state.isThere) {
    await world.runUntil(world.nowMs + STEP_MS, () => state.isThere);
    await nextTurn();
  }
  return answer;
}

/** The same, of which each call waits for its answer. */
function waitedFor<Part extends object>(world: World, part: Part): Part {
  return new Proxy(part, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return (...values: readonly unknown[]) =>
        answered(world, Reflect.apply(method, target, values) as Promise<unknown>);
    },
  });
}
