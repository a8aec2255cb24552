/** Damage that is done to a node's tables for as long as one look at them takes. */
import { Connection } from "../../src/postgres/connection.ts";
import { fsckSession } from "../../src/fsck/fsck-database.ts";
import type { FsckSessionOptions } from "../../src/fsck/fsck-database.ts";
import type { FsckReport } from "../../src/index.ts";
import { INDEXED_PLANS } from "../../src/postgres/indexed-plans.ts";
import { rootThkOfGenesis } from "./cluster.ts";
import type { SoundNode } from "./sound-node.ts";

/** What is done to a sound database, and the place that must be named first. */
export type Planted = readonly [what: string, sql: (sound: SoundNode) => string | readonly string[], named: Named];
export type Named = (sound: SoundNode) => readonly [table: string, key: string, column: string | null];

class RolledBack extends Error {}

/** SQL that changes one bit of a column. */
export function flipped(column: string, place = 0): string {
  return `${column} = set_byte(${column}, ${place}, get_byte(${column}, ${place}) # 1)`;
}

export function ofSequence({ sequence }: { readonly sequence: number }): string {
  return `WHERE sequence = ${sequence}`;
}

/** The tables of one node. */
export class PlantedTables {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  static async open(url: string): Promise<PlantedTables> {
    return new PlantedTables(await Connection.open({ url, name: "fsck test", settings: INDEXED_PLANS }));
  }

  /** What fsck says of them as the statements leave them. Nothing of it stays. */
  async reportAfter(sql: string | readonly string[], options: Partial<FsckSessionOptions> = {}): Promise<FsckReport> {
    const found: { report: FsckReport | null } = { report: null };
    try {
      await this.#connection.transaction(async (session) => {
        for (const text of typeof sql === "string" ? [sql] : sql) await session.write({ text });
        found.report = await fsckSession(session, { pinnedRootThk: rootThkOfGenesis(), batchRows: 250, ...options });
        throw new RolledBack();
      });
    } catch (error) {
      if (!(error instanceof RolledBack)) throw error;
    }
    if (found.report === null) throw new Error("there is no report");
    return found.report;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}
