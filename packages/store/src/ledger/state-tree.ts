/** The state tree of this node: its pages in a table, and those near the root in memory. */
import { StatePagesMissing, stateRootOf, updateStateTree, StatePage } from "@event-anchoring/ledger";
import type { StateTreeUpdate } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import type { StateLeaf } from "@event-anchoring/protocol";
import type { Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { loadStatePages } from "../tables/tree-pages.ts";

/** Pages with prefixes up to this long stay in memory: at most 4,369 of them, with their hashes below 8 MB. */
const KEPT_PREFIX_MAX = 3;
/** Levels of pages that are read at once below a missing one: most keys end within these. */
const PAGES_AHEAD = 3;

const { sha256 } = nodeCrypto;

/** Prefixes of the keys below a page, the page's own first. */
export function prefixesBelow(missing: readonly string[], keys: readonly string[]): string[] {
  const prefixes = new Set(missing);
  for (const prefix of missing) {
    for (const key of keys) {
      if (!key.startsWith(prefix)) continue;
      for (let more = 1; more <= PAGES_AHEAD; more++) prefixes.add(key.slice(0, prefix.length + more));
    }
  }
  return [...prefixes];
}

/** Invariant: every page in memory equals that in the table, as of the last noted update. */
export class StateTree {
  readonly #pages = new Map<string, StatePage>();
  /** Prefixes of the pages in memory that the next update may change, and that are not kept after it. */
  readonly #passing = new Set<string>();

  /** Root hash of the tree in the table. */
  async load(session: Reader): Promise<Uint8Array> {
    this.#pages.clear();
    this.#passing.clear();
    await this.#read(session, [""], []);
    return stateRootOf(this.#pages.get("") ?? StatePage.empty, sha256);
  }

  /**
   * The tree with these values. Nothing is written: the pages go into the transaction of the entry.
   * @throws StoreError `corrupt`
   */
  async update(session: Reader, leaves: readonly StateLeaf[]): Promise<StateTreeUpdate> {
    const keys = leaves.map(({ key }) => bytesToHex(key));
    for (;;) {
      try {
        return updateStateTree(this.#pages, leaves, sha256);
      } catch (error) {
        if (!(error instanceof StatePagesMissing)) throw error;
        await this.#read(session, error.prefixes, keys);
      }
    }
  }

  /** The update is in the table. */
  note({ pages }: StateTreeUpdate): void {
    for (const [prefix, page] of pages) if (prefix.length <= KEPT_PREFIX_MAX) this.#pages.set(prefix, page);
    for (const prefix of this.#passing) this.#pages.delete(prefix);
    this.#passing.clear();
  }

  async #read(session: Reader, missing: readonly string[], keys: readonly string[]): Promise<void> {
    const asked = prefixesBelow(missing, keys);
    for (const [prefix, page] of await loadStatePages(session, asked)) {
      this.#pages.set(prefix, page);
      if (prefix.length > KEPT_PREFIX_MAX) this.#passing.add(prefix);
    }
    for (const prefix of missing) {
      if (this.#pages.has(prefix)) continue;
      if (prefix !== "") throw new StoreError("corrupt", `page "${prefix}" of the state tree is missing`);
      this.#pages.set("", StatePage.empty);
    }
  }
}
