/** Force and states along chains that are long and share their roots. docs/PROTOCOL.md, "In force". */
import type { AsOf } from "../book/as-of.ts";
import { claimStateAt, grantForceAt, grantStateOf } from "./in-force.ts";
import type { GrantForce, RecordState } from "./in-force.ts";
import type { ClaimRecord, GrantRecord, Records } from "../book/records.ts";

/** A grant and its ancestors. */
export interface GrantChain {
  /** From the grant itself towards the root, as far as the records go. Never empty. */
  readonly links: readonly GrantRecord[];
  /** True: the last of them is a root grant. */
  readonly isComplete: boolean;
}

/** The grant that a link was granted under. A row that names one no older than itself, as none can, leads nowhere. */
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

/** What is wrong with one link and its two claims, whatever becomes of those above it. */
export function linkForceAt(link: GrantRecord, at: AsOf, records: Records): GrantForce {
  return grantForceAt({ ...link, parent: null }, at, records);
}

/** What ends a record the more surely stands further back. */
const SEVERITY: Readonly<Record<RecordState, number>> = { active: 0, expired: 1, superseded: 2, revoked: 3 };

/** What becomes of a grant by itself and all it hangs on. */
interface Standing {
  readonly state: RecordState;
  /** Nothing is wrong with any link, and none is missing. */
  readonly isInForce: boolean;
}

/** States at one position of any number of claims and grants; what several chains share is judged once. */
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

  /** As grantStateOf says it of the whole chain, as far as its records are there. */
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
