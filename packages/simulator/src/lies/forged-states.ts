import { stateHeadOf } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { formatStateHead, formatStateHeadNote, stateHeadLine, stateHeadMessage } from "@event-anchoring/protocol";
import type { ConfState } from "raft-ts";
import type { AppliedRow } from "../disks/database-image.ts";
import { keyNamed } from "../trust/key-ring.ts";
import { type OfferedState, membersOf, stateOf } from "../disks/simulated-snapshots.ts";
import { type LiarSelf, NoLie } from "./lie.ts";

/**
 * Serves a state with an API key, an ending or a member that no quorum has signed. With it comes the head of the true
 * state, or one of the forged state that only the liar has signed, for itself and in others' names.
 */
export class ForgedStates extends NoLie {
  readonly #self: LiarSelf;
  #exports = 0;

  constructor(self: LiarSelf) {
    super();
    this.#self = self;
  }

  override onExport({ applied, thinned, stateHead }: OfferedState): OfferedState {
    const way = WAYS[this.#exports % WAYS.length];
    const isResigned = this.#exports % 2 === 1;
    this.#exports += 1;
    const forged = way === undefined ? applied : way(applied);
    return { applied: forged, thinned, stateHead: isResigned ? this.#signed(forged) : stateHead };
  }

  #signed(applied: readonly AppliedRow[]): string {
    const { ledger, stateRoot } = stateOf(applied);
    const { cosigner, trustRoot } = this.#self;
    const members = membersOf(applied) ?? {
      voters: [this.#self.raftId],
      votersOutgoing: [],
      learners: [],
      learnersNext: [],
      autoLeave: false,
    };
    const head = stateHeadOf(ledger, { members, stateRoot });
    if (head === null) throw new Error("a cluster that was born has a state head");
    const signature = cosigner.sign(stateHeadMessage(formatStateHead(head)));
    const lines = trustRoot.nodes.map(({ cosignerVkey: { name, publicKey } }) =>
      stateHeadLine({ name, publicKey, signature }, nodeCrypto.sha256),
    );
    return formatStateHeadNote(head, lines);
  }
}

type Way = (applied: readonly AppliedRow[]) => readonly AppliedRow[];

const WAYS: readonly Way[] = [withAnotherKey, withEndedKeys, withAnotherMember];

function withAnotherKey(applied: readonly AppliedRow[]): readonly AppliedRow[] {
  const { keyId, keyHash } = keyNamed("nobody's");
  return withKeys(applied, (keys) => keys.flatMap((key) => [key, { ...key, keyId, keyHash }]));
}

function withEndedKeys(applied: readonly AppliedRow[]): readonly AppliedRow[] {
  return withKeys(applied, (keys) => keys.map((key) => ({ ...key, revokedMs: 1 })));
}

type Keys = AppliedRow["decision"]["writes"]["apiKeys"];

function withKeys(applied: readonly AppliedRow[], change: (keys: Keys) => Keys): readonly AppliedRow[] {
  return applied.map(({ decision, confState }) => {
    const writes = { ...decision.writes, apiKeys: change(decision.writes.apiKeys) };
    return { decision: { ...decision, writes }, confState };
  });
}

function withAnotherMember(applied: readonly AppliedRow[]): readonly AppliedRow[] {
  const alone: ConfState = { voters: [0x9n], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
  return applied.map((row, at) => (at === applied.length - 1 ? { ...row, confState: alone } : row));
}
