/** The state tree of this node: its pages in a table, and those near the root in memory. */
import {
  EMPTY_STATE_PAGE,
  StatePagesMissing,
  decodeStatePage,
  encodeStatePage,
  stateRootOf,
  updateStateTree,
} from "@event-anchoring/ledger";
import type { StatePage, StateTreeUpdate } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { DecodeError, bytesToHex } from "@event-anchoring/protocol";
import type { StateLeaf } from "@event-anchoring/protocol";
import { byteaArray, textArray } from "../postgres/binary-array.ts";
import type { Parameter, Reader } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";

/** Pages with prefixes up to this long stay in memory: at most 4,369 of them, a few MB. */
const KEPT_PREFIX_MAX = 3;
/** Pages that are read at once below one that is missing: most keys end within these. */
const PAGES_AHEAD = 3;

const LOAD_PAGES = {
  name: "state_pages",
  text: "SELECT prefix, slots FROM state.tree_pages WHERE prefix = ANY($1::text[])",
};

const { sha256 } = nodeCrypto;

function decodePage(prefix: string, slots: Uint8Array): StatePage {
  try {
    return decodeStatePage(slots);
  } catch (cause) {
    if (cause instanceof DecodeError) {
      throw new StoreError("corrupt", `page "${prefix}" of the state tree cannot be decoded`, { cause });
    }
    throw cause;
  }
}

/** Prefixes of the keys below a page, the page's own first. */
function prefixesBelow(missing: readonly string[], keys: readonly string[]): string[] {
  const prefixes = new Set(missing);
  for (const prefix of missing) {
    for (const key of keys) {
      if (!key.startsWith(prefix)) continue;
      for (let more = 1; more <= PAGES_AHEAD; more++) prefixes.add(key.slice(0, prefix.length + more));
    }
  }
  return [...prefixes];
}

/** Pages as values of the statement that writes an entry: prefixes, then slots. */
export function statePageParameters(pages: StateTreeUpdate["pages"]): Parameter[] {
  return [textArray([...pages.keys()]), byteaArray([...pages.values()].map(encodeStatePage))];
}

/** Invariant: every page in memory is that of the table, as of the last update that was noted. */
export class StateTree {
  readonly #pages = new Map<string, StatePage>();

  /** Root hash of the tree in the table. */
  async load(session: Reader): Promise<Uint8Array> {
    this.#pages.clear();
    await this.#read(session, [""], []);
    return stateRootOf(this.#pages.get("") ?? EMPTY_STATE_PAGE, sha256);
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
    for (const [prefix, page] of pages) this.#pages.set(prefix, page);
    for (const prefix of this.#pages.keys()) if (prefix.length > KEPT_PREFIX_MAX) this.#pages.delete(prefix);
  }

  async #read(session: Reader, missing: readonly string[], keys: readonly string[]): Promise<void> {
    const asked = prefixesBelow(missing, keys);
    const rows = await session.read<{ prefix: string; slots: Uint8Array }>(LOAD_PAGES, [textArray(asked)]);
    for (const { prefix, slots } of rows) this.#pages.set(prefix, decodePage(prefix, slots));
    for (const prefix of missing) {
      if (this.#pages.has(prefix)) continue;
      if (prefix !== "") throw new StoreError("corrupt", `page "${prefix}" of the state tree is missing`);
      this.#pages.set("", EMPTY_STATE_PAGE);
    }
  }
}
