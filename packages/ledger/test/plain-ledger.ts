/**
 * Leaves, trees, tiles and effects as docs/PROTOCOL.md states them, one value after the other and without regard to
 * cost: what the ledger computes in its own way is compared with this.
 */
import {
  ByteWriter,
  LEAF_KIND,
  ZERO_32,
  anchorIdOf,
  asciiToBytes,
  bytesToHex,
  clientEventCommit,
  concatBytes,
  decodeLeaf,
  encodeLeaf,
  interiorHash,
  tag,
} from "@event-anchoring/protocol";
import type { Leaf, LeafHeader, OriginFingerprint } from "@event-anchoring/protocol";
import { nextEffect } from "../src/decide/effect.ts";
import type { Entry, EntryDecision, EventInput, LeafWrite, TileWrite } from "../src/index.ts";
import { sha256 } from "../../../test/worlds/cluster.ts";

const TILE_WIDTH = 256;

/** RFC 6962 section 2.1, for one leaf or more. */
export function rootOf(hashes: readonly Uint8Array[]): Uint8Array {
  const [first] = hashes;
  if (first === undefined) throw new RangeError("no leaf");
  if (hashes.length === 1) return first;
  let split = 1;
  while (split * 2 < hashes.length) split *= 2;
  return interiorHash(rootOf(hashes.slice(0, split)), rootOf(hashes.slice(split)), sha256);
}

/** What one entry must write, and the effect of it. */
export interface PlainDecision {
  readonly leaves: readonly LeafWrite[];
  readonly tiles: readonly TileWrite[];
  readonly effect: Uint8Array;
  /** Content hashes of the client events that it writes, in their order. */
  readonly contentHashes: readonly Uint8Array[];
  readonly clientEventsHash: Uint8Array;
  readonly groupIdsHash: Uint8Array;
}

export class PlainLedger {
  /** Hashes of each level of tiles, by the hex of the origin; level 0 holds the anchor ids. */
  readonly #origins = new Map<string, Uint8Array[][]>();
  #nextSequence = 0;
  #effect = ZERO_32;
  #stampMs = 0;
  #clientEventsHash = ZERO_32;
  #groupIdsHash = ZERO_32;

  /** Anchor ids of an origin, in order. */
  leavesOf(originFingerprint: OriginFingerprint): readonly Uint8Array[] {
    return this.#levels(originFingerprint)[0] ?? [];
  }

  /** The open tiles of an origin, level 0 first. */
  openTilesOf(originFingerprint: OriginFingerprint): readonly (readonly Uint8Array[])[] {
    return this.#levels(originFingerprint).map((hashes) =>
      hashes.slice(Math.floor(hashes.length / TILE_WIDTH) * TILE_WIDTH),
    );
  }

  /** The entry, of which `decision` says only what was accepted and where it goes. */
  decide(entry: Entry, decision: EntryDecision): PlainDecision {
    this.#stampMs = Math.max(this.#stampMs, entry.acceptedMs);
    const events = acceptedEvents(entry, decision);
    const leaves: LeafWrite[] = [];
    const tiles: TileWrite[] = [];
    for (const written of decision.writes.leaves) {
      const leaf = this.#leaf(written, events.get(written.sequence) ?? null);
      leaves.push(leaf);
      tiles.push(...this.#append(leaf));
    }
    const end = { index: decision.index, term: decision.term, rules: decision.rules, stampMs: this.#stampMs };
    this.#effect = nextEffect(this.#effect, end, { ...decision.writes, leaves, tiles }, sha256);
    const contentHashes = this.#addClientEvents(decision, events);
    this.#addGroupIds(decision);
    const hashes = { clientEventsHash: this.#clientEventsHash, groupIdsHash: this.#groupIdsHash };
    return { leaves, tiles, effect: this.#effect, contentHashes, ...hashes };
  }

  #addClientEvents({ writes }: EntryDecision, events: ReadonlyMap<number, EventInput>): Uint8Array[] {
    return writes.clientEvents.map(({ sequence, apiClientId, clientEventId }) => {
      const prefix = sha256(concatBytes(apiClientId, asciiToBytes(clientEventId))).slice(0, 8);
      this.#clientEventsHash = sha256(
        concatBytes(tag("client-events"), this.#clientEventsHash, u64(sequence), apiClientId, prefix),
      );
      const event = events.get(sequence);
      if (event === undefined) throw new RangeError(`no event has sequence ${sequence}`);
      const { eventHash, semanticAnchor: anchor, actor } = event;
      const { irisRef, scrollRef, grantRef, bondRef, yieldRef, eventDataHash } = anchor;
      const kind = Uint8Array.of(actor === null ? LEAF_KIND.event : LEAF_KIND.signedEvent);
      const hashes = [eventHash, irisRef, scrollRef, grantRef, bondRef, yieldRef, eventDataHash];
      return sha256(concatBytes(kind, ...hashes, ...(actor === null ? [] : [actor.publicKey])));
    });
  }

  #addGroupIds({ index, writes: { groupIds } }: EntryDecision): void {
    if (groupIds.length === 0) return;
    const ids = groupIds.map(({ node, incarnation, counter }) =>
      concatBytes(u64(Number(node)), u64(incarnation), u64(counter)),
    );
    this.#groupIdsHash = sha256(concatBytes(tag("group-ids"), this.#groupIdsHash, u64(index), ...ids));
  }

  #leaf({ originFingerprint, bytes: written }: LeafWrite, event: EventInput | null): LeafWrite {
    const before = this.leavesOf(originFingerprint);
    const header: LeafHeader = {
      originFingerprint,
      depth: before.length,
      parentAnchorId: (before.at(-1) ?? ZERO_32) as LeafHeader["parentAnchorId"],
      sequence: this.#nextSequence++,
      acceptedMs: this.#stampMs,
    };
    const leaf: Leaf = event === null ? { ...decodeLeaf(written), ...header } : eventLeaf(header, event);
    const bytes = encodeLeaf(leaf);
    const { depth, sequence, acceptedMs } = header;
    const anchorId = anchorIdOf(bytes, sha256);
    return { kind: leaf.kind, originFingerprint, depth, sequence, acceptedMs, anchorId, bytes };
  }

  #append({ originFingerprint, anchorId }: LeafWrite): TileWrite[] {
    const levels = this.#levels(originFingerprint);
    const completed: TileWrite[] = [];
    let hash: Uint8Array = anchorId;
    for (let level = 0; ; level++) {
      const hashes = (levels[level] ??= []);
      hashes.push(hash);
      if (hashes.length % TILE_WIDTH !== 0) return completed;
      const tile = hashes.slice(-TILE_WIDTH);
      const index = hashes.length / TILE_WIDTH - 1;
      hash = rootOf(tile);
      completed.push({ originFingerprint, level, index, root: hash, hashes: concatBytes(...tile) });
    }
  }

  #levels(originFingerprint: OriginFingerprint): Uint8Array[][] {
    const key = bytesToHex(originFingerprint);
    const levels = this.#origins.get(key) ?? [];
    this.#origins.set(key, levels);
    return levels;
  }
}

function u64(value: number): Uint8Array {
  return new ByteWriter(8).u64(value).finish();
}

/** The events that were accepted, by the sequences of their leaves. */
function acceptedEvents(entry: Entry, decision: EntryDecision): Map<number, EventInput> {
  const events = new Map<number, EventInput>();
  decision.outcomes.forEach((group, groupAt) => {
    if (group.status !== "decided") return;
    group.commands.forEach((outcome, commandAt) => {
      const command = entry.groups[groupAt]?.commands[commandAt];
      if (command?.kind !== "record_events" || outcome.kind !== "records") return;
      outcome.records.forEach((record, at) => {
        const event = command.events[at];
        if (record.status === "accepted" && event !== undefined) events.set(record.leaf.sequence, event);
      });
    });
  });
  return events;
}

function eventLeaf(header: LeafHeader, event: EventInput): Leaf {
  const { eventHash, semanticAnchor, clientEventId, clientEventSalt, actor } = event;
  const commit =
    clientEventId === null || clientEventSalt === null
      ? ZERO_32
      : clientEventCommit(clientEventSalt, clientEventId, sha256);
  const body = { eventHash, semanticAnchor, clientEventCommit: commit };
  if (actor === null) return { kind: LEAF_KIND.event, ...header, ...body };
  const { publicKey: actorPublicKey, signature: actorSignature } = actor;
  return { kind: LEAF_KIND.signedEvent, ...header, ...body, actorPublicKey, actorSignature };
}
