import { type PeerFrame, REFUSAL_CODES } from "@event-anchoring/control-contract";
import { decodeGroup } from "@event-anchoring/ledger";
import { type Heard, NoLie } from "./lie.ts";

/** Goes on leading, and proposes none of the others' writes. */
export class SilentLeader extends NoLie {
  override onArriving(_from: string, frame: PeerFrame): Heard {
    return { frame: frame.type === "proposals" ? null : frame, says: [] };
  }
}

/** Goes on leading, and refuses the others' writes with every refusal code in turn. */
export class RefusingLeader extends NoLie {
  #refused = 0;

  override onArriving(from: string, frame: PeerFrame): Heard {
    if (frame.type !== "proposals") return { frame, says: [] };
    this.#refused += 1;
    const code = REFUSAL_CODES[this.#refused % REFUSAL_CODES.length] ?? "overloaded";
    const ids = frame.groups.map((group) => decodeGroup(group).id);
    return { frame: null, says: [{ to: from, frame: { type: "proposals_refused", ids, code, detail: "not now" } }] };
  }
}
