import type { PeerCosignature, PeerFrame } from "@event-anchoring/control-contract";
import { type ProposalGroup, decodeEntry, encodeEntry, encodeGroup } from "@event-anchoring/ledger";
import type { Signer } from "@event-anchoring/node-crypto";
import { type TrustRoot, checkpointOrigin, cosignatureMessage, formatCheckpoint } from "@event-anchoring/protocol";
import { decodeMessage, encodeMessage } from "raft-ts";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import { type Heard, NoLie, type SigningSelf } from "./lie.ts";

/**
 * A leader that gives one follower other bytes under the same index and term, signs the root that follows from them as
 * well as its own, and withholds what would give it away.
 */
export class OtherBytes extends NoLie {
  readonly #self: SigningSelf;
  readonly #victim: string;
  readonly #sparedNode: bigint | null;
  /** By index and term: the victim gets the same lie each time. */
  readonly #forged = new Map<string, Uint8Array>();

  /** @param sparedNode raft id of whose writes the victim is shown, and no others; null: it gets other bytes for all */
  constructor(self: SigningSelf, victim: string, sparedNode: bigint | null = null) {
    super();
    this.#self = self;
    this.#victim = victim;
    this.#sparedNode = sparedNode;
  }

  override onLeaving(to: string, frame: PeerFrame): readonly PeerFrame[] {
    if (frame.type === "lines") return [];
    if (to !== this.#victim) return [frame];
    // The victim gets the liar's signature over the root that the victim itself has reached.
    if (frame.type === "cosignatures") return [];
    return frame.type === "raft" ? [{ type: "raft", message: this.#forge(frame.message) }] : [frame];
  }

  override onArriving(from: string, frame: PeerFrame): Heard {
    if (frame.type === "lines") return { frame: null, says: [] };
    if (from !== this.#victim || frame.type !== "cosignatures") return { frame, says: [] };
    const { cosigner, trustRoot } = this.#self;
    const items = frame.items.map((item) => cosignedBy(cosigner, trustRoot, item));
    return { frame: null, says: [{ to: from, frame: { type: "cosignatures", items, asks: false } }] };
  }

  #forge(bytes: Uint8Array): Uint8Array {
    const message = decodeMessage(bytes);
    if (message.type !== "MsgApp" || message.entries.length === 0) return bytes;
    const entries = message.entries.map((entry) => {
      if (entry.type !== "normal" || entry.payload === undefined || entry.payload.length === 0) return entry;
      const key = `${entry.index}:${entry.term}`;
      const payload = this.#forged.get(key) ?? withOtherEvents(entry.payload, this.#sparedNode);
      this.#forged.set(key, payload);
      return { ...entry, payload };
    });
    return encodeMessage({ ...message, entries });
  }
}

/**
 * The same entry with other client events, and without certificates, which would cover the true ones.
 * @param sparedNode raft id of whose events stay as they are, while all others' are left out
 */
export function withOtherEvents(payload: Uint8Array, sparedNode: bigint | null = null): Uint8Array {
  const entry = decodeEntry(payload, NEXT_RULES);
  const isShown = ({ id, commands }: ProposalGroup): boolean =>
    sparedNode === null || id.node === sparedNode || commands.every(({ kind }) => kind !== "record_events");
  const groups = entry.groups.filter(isShown).map((group) => {
    if (group.id.node === sparedNode) return encodeGroup(group);
    const commands = group.commands.map((command) => {
      if (command.kind !== "record_events") return command;
      const events = command.events.map((event) => ({
        ...event,
        eventHash: event.eventHash.map((byte) => byte ^ 0x5a),
      }));
      return { ...command, events };
    });
    return encodeGroup({ ...group, commands });
  });
  return encodeEntry({ ...entry, certificates: [], groups });
}

/** That key's cosignature over the same head. */
export function cosignedBy(cosigner: Signer, trustRoot: TrustRoot, item: PeerCosignature): PeerCosignature {
  const origin = checkpointOrigin(trustRoot.clusterName, item.originFingerprint);
  const message = cosignatureMessage(item.timeS, formatCheckpoint({ ...item, origin }));
  return { ...item, signature: cosigner.sign(message) };
}
