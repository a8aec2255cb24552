/** Force and states along long chains that share their roots. docs/PROTOCOL.md, "In force". */
import type { AsOf } from "../book/as-of.ts";
import { claimStateAt, grantForceAt, grantStateOf } from "./in-force.ts";
import type { GrantForce, RecordState } from "./in-force.ts";
import type { ClaimRecord, GrantRecord, Records } from "../book/records.ts";

/** A grant and its ancestors. */
export interface GrantChain {
  /** From the grant itself towards the root, as far as records are loaded. Never empty. */
  readonly links: readonly GrantRecord[];
  /** True: the last of them is a root grant. */
  readonly isComplete: boolean;
}

/**
 * The grant that a link was granted under. A row whose parent is not older than itself, which is impossible, has none
 * here.
 */
function parentOf(link: GrantRecord, records: Records): GrantRecord | null {
  return link.parent !== null && link.parent < link.sequence ? records.grant(link.parent) : null;
}

/** Follows a grant to its root. */
export function chainOf(grant: GrantRecord, records: Records): GrantChain {
  const links: GrantRecord[] = [];
  let last = grant;
  for (let link: GrantRecord | null = grant; link !== null; link = parentOf(link, records)) {
    links.push(link);
    last = link;
  }
  return { links, isComplete: last.parent === null };
}

/** What is wrong with one link and its two claims, regardless of the links above it. */
export function linkForceAt(link: GrantRecord, at: AsOf, records: Records): GrantForce {
  return grantForceAt({ ...link, parent: null }, at, records);
}

/** The more final an ending, the higher its number. */
const SEVERITY: Readonly<Record<RecordState, number>> = { active: 0, expired: 1, superseded: 2, revoked: 3 };

/** The state of a grant with all records that it depends on. */
interface Standing {
  readonly state: RecordState;
  /** Nothing is wrong with any link, and none is missing. */
  readonly isInForce: boolean;
}

/** States at one position of any number of claims and grants; links that several chains share are judged once. */
export class RecordStates {
  readonly #records: Records;
  readonly #at: AsOf;
  readonly #grants = new Map<number, Standing>();

  constructor(records: Records, at: AsOf) {
    this.#records = records;
    this.#at = at;
  }

  claim(claim: ClaimRecord): RecordState {
    return claimStateAt(claim, this.#at);
  }

  /** Like grantStateOf over the whole chain, as far as its records are loaded. */
  grant(grant: GrantRecord): RecordState {
    return this.#standingOf(grant).state;
  }

  /** False also if a record is missing. */
  isInForce(grant: GrantRecord): boolean {
    return this.#standingOf(grant).isInForce;
  }

  #standingOf(grant: GrantRecord): Standing {
    const unjudged: GrantRecord[] = [];
    let above: Standing = { state: "active", isInForce: false };
    for (let link: GrantRecord | null = grant; link !== null; link = parentOf(link, this.#records)) {
      const known = this.#grants.get(link.sequence);
      if (known !== undefined) {
        above = known;
        break;
      }
      unjudged.push(link);
    }
    for (const link of unjudged.reverse()) {
      const force = linkForceAt(link, this.#at, this.#records);
      const own = grantStateOf(force);
      above = {
        state: SEVERITY[own] > SEVERITY[above.state] ? own : above.state,
        isInForce: force.isComplete && force.faults.length === 0 && (link.parent === null || above.isInForce),
      };
      this.#grants.set(link.sequence, above);
    }
    return above;
  }
}
