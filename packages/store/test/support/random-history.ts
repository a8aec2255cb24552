/** Random lives of a ledger, each a function of its seed, and what somebody would know who had seen every leaf. */
import { clientEventKey, contentHashOfRecord, decideEntry } from "@event-anchoring/ledger";
import { RecordBook } from "@event-anchoring/records";
import type {
  ClientEventFact,
  Command,
  ContentFact,
  EntryDecision,
  Facts,
  FoundAnchor,
  LeafWrite,
} from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, bytesToHex, decodeLeaf } from "@event-anchoring/protocol";
import {
  actingEvent,
  claimCommand,
  eraseCommand,
  eventsCommand,
  grantCommand,
  leafAt,
  revocationCommand,
} from "./records.ts";
import type { RunSizes } from "../../src/tables/look-up-runs.ts";
import type { TestDatabase } from "./database.ts";
import { StoredLedgerHarness, originAt } from "./stored-ledger.ts";

const { sha256 } = nodeCrypto;

/** mulberry32: small, and the same everywhere. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Everything that the leaves say, asked for or not: a store may know less, and must lead to the same decisions. */
export class FullKnowledge {
  readonly book = new RecordBook(sha256);
  readonly leaves: LeafWrite[] = [];
  readonly revocations: { sequence: number; target: number }[] = [];
  readonly contents = new Map<string, ContentFact>();
  readonly clientEvents = new Map<string, ClientEventFact>();
  readonly anchors = new Map<string, FoundAnchor>();

  get facts(): Facts {
    const { anchors, clientEvents, contents, book } = this;
    return { anchors, clientEvents, contents, records: book };
  }

  learn({ writes }: EntryDecision): void {
    const recorders = new Map([...writes.claims, ...writes.grants].map((one) => [one.sequence, one.recordedBy]));
    for (const write of writes.leaves) this.#learnLeaf(write, recorders.get(write.sequence) ?? null);
    for (const event of writes.clientEvents) {
      this.clientEvents.set(clientEventKey(event.apiClientId, event.clientEventId), { ...event, isErased: false });
      this.#setClientEvent(bytesToHex(event.anchorId), { apiClientId: event.apiClientId, isErased: false });
    }
    for (const { anchorId } of writes.erasures) {
      const key = bytesToHex(anchorId);
      const clientEvent = this.anchors.get(key)?.clientEvent ?? null;
      this.#setClientEvent(key, clientEvent && { ...clientEvent, isErased: true });
    }
  }

  #setClientEvent(key: string, clientEvent: FoundAnchor["clientEvent"]): void {
    const anchor = this.anchors.get(key);
    if (anchor === undefined) throw new Error(`no anchor ${key}`);
    this.anchors.set(key, { ...anchor, clientEvent });
  }

  #learnLeaf(write: LeafWrite, recordedBy: Uint8Array | null): void {
    const { anchorId, originFingerprint, sequence, kind, depth } = write;
    this.leaves.push(write);
    this.anchors.set(bytesToHex(anchorId), { kind, sequence, originFingerprint, depth, clientEvent: null });
    const leaf = decodeLeaf(write.bytes);
    const added = this.book.append(leaf, { anchorId, recordedBy });
    if (added.kind === "dangling") throw new Error(`leaf ${sequence} names what is not there`);
    if (added.kind === "revocation") this.revocations.push({ sequence, target: added.target });
    if (leaf.kind !== LEAF_KIND.claim && leaf.kind !== LEAF_KIND.grant && leaf.kind !== LEAF_KIND.revocation) return;
    const contentHash = contentHashOfRecord(leaf, this.book, sha256);
    if (contentHash === null) throw new Error(`leaf ${sequence} revokes what is not there`);
    this.contents.set(bytesToHex(contentHash), { anchorId, originFingerprint, sequence });
  }
}

const NAMES = ["ada", "bob", "cyd", "dan", "eve"];

/** Makes commands of every sort, good and bad; names repeat, so that lineages, chains and replays come about. */
export class RandomHistory {
  readonly #random: (below: number) => number;
  readonly #known: FullKnowledge;
  readonly #nowMs: () => number;
  /** By whom the subject of a claim signs, by the hex of the claim's id. */
  readonly #subjects = new Map<string, string>();

  constructor(seed: number, known: FullKnowledge, nowMs: () => number) {
    this.#random = randomOf(seed);
    this.#known = known;
    this.#nowMs = nowMs;
  }

  #one<T>(values: readonly T[]): T | undefined {
    return values[this.#random(values.length)];
  }

  /** A leaf of the kind, more often than not one of the newest. */
  #leafOf(kind: number): LeafWrite | undefined {
    const leaves = this.#known.leaves.filter((leaf) => leaf.kind === kind);
    return this.#one(this.#random(3) === 0 ? leaves : leaves.slice(-6));
  }

  #time(): number {
    return this.#random(4) === 0 ? this.#nowMs() + this.#random(200) : 0;
  }

  #claim(): Command {
    const name = this.#one(NAMES) ?? "ada";
    const command = claimCommand(name, {
      originFingerprint: originAt(this.#random(3)),
      attributeType: this.#random(2),
      expiresAt: this.#time(),
      issuedAt: this.#random(3),
      issuer: this.#random(12) === 0 ? "other issuer" : "issuer",
    });
    return command;
  }

  #grant(): Command {
    const [grantor, grantee] = [this.#leafOf(LEAF_KIND.claim), this.#leafOf(LEAF_KIND.claim)];
    const parent = this.#random(3) === 0 ? undefined : this.#leafOf(LEAF_KIND.grant);
    if (grantor === undefined || grantee === undefined) return this.#claim();
    const parentLeaf = parent === undefined ? null : decodeLeaf(parent.bytes);
    // To fit its parent, most of the time: its grantor is the parent's grantee.
    const named = parentLeaf?.kind === LEAF_KIND.grant ? bytesToHex(parentLeaf.granteeClaimRef) : null;
    const own = this.#known.leaves.find(({ anchorId }) => bytesToHex(anchorId) === named) ?? grantor;
    const depth = parentLeaf?.kind === LEAF_KIND.grant ? parentLeaf.delegationDepth - this.#random(2) : 9;
    return grantCommand(this.#holder(own), this.#holder(grantee), {
      ...(parent === undefined ? {} : { parent }),
      originFingerprint: originAt(this.#random(3)),
      delegationDepth: Math.max(0, depth),
      expiresAt: this.#time(),
      issuedAt: this.#random(3),
    });
  }

  #holder(claim: LeafWrite): { name: string; claim: LeafWrite } {
    const key = bytesToHex(claim.anchorId);
    const leaf = decodeLeaf(claim.bytes);
    const entity = leaf.kind === LEAF_KIND.claim ? bytesToHex(leaf.entityFingerprint) : "";
    const name = this.#subjects.get(key) ?? NAMES.find((one) => entityOf(one) === entity) ?? "ada";
    this.#subjects.set(key, name);
    return { name, claim };
  }

  #revocation(): Command {
    const kind = this.#random(2) === 0 ? "claim" : "grant";
    const target = this.#leafOf(LEAF_KIND[kind]);
    if (target === undefined) return this.#claim();
    return revocationCommand(kind, target, { reason: this.#random(3), ...this.#revoker() });
  }

  #revoker(): { by?: string } {
    return this.#random(3) === 0 ? { by: this.#one([...NAMES, "issuer", "witness"]) ?? "issuer" } : {};
  }

  #events(): Command {
    return eventsCommand(
      Array.from({ length: 1 + this.#random(4) }, () => {
        const label = `e${this.#random(20)}`;
        const clientEventId = this.#random(2) === 0 ? `id-${this.#random(30)}` : null;
        const iris = this.#random(2) === 0 ? this.#leafOf(LEAF_KIND.claim) : undefined;
        const grant = this.#random(2) === 0 ? this.#leafOf(LEAF_KIND.grant) : undefined;
        const origin = { originFingerprint: originAt(this.#random(3)) };
        const actor = this.#random(3) === 0 ? { actor: this.#one(NAMES) ?? "ada" } : {};
        return actingEvent(label, { iris, grant, ...origin, ...actor, clientEventId });
      }),
    );
  }

  #erasure(): Command {
    const target = this.#leafOf(LEAF_KIND.event) ?? leafAt(this.#known.leaves, 0);
    return eraseCommand(target);
  }

  /** Commands of one entry. */
  next(): Command[] {
    const makers = [() => this.#claim(), () => this.#claim(), () => this.#grant(), () => this.#grant()];
    makers.push(
      () => this.#grant(),
      () => this.#revocation(),
      () => this.#events(),
      () => this.#events(),
      () => this.#erasure(),
    );
    return Array.from({ length: 1 + this.#random(6) }, () => (this.#one(makers) ?? (() => this.#claim()))());
  }
}

function entityOf(name: string): string {
  const command = claimCommand(name);
  return command.kind === "record_claim" ? bytesToHex(command.claim.entityFingerprint) : "";
}

/** A ledger that has lived. */
export interface Life {
  readonly harness: StoredLedgerHarness;
  readonly known: FullKnowledge;
}

/**
 * Applies random entries, and decides each twice: from what the store loads, and from all there is.
 * @param compare is given both decisions
 */
export async function live(
  database: TestDatabase,
  seed: number,
  entries: number,
  compare: (decision: EntryDecision, expected: EntryDecision) => void | Promise<void> = () => undefined,
  runSizes?: RunSizes,
): Promise<Life> {
  const known = new FullKnowledge();
  const harness = await StoredLedgerHarness.started(database.url, (decision) => known.learn(decision), runSizes);
  const history = new RandomHistory(seed, known, () => harness.clockMs);
  for (let count = 0; count < entries; count++) {
    const entry = harness.entry(history.next());
    const committed = { index: harness.state.appliedIndex + 1, term: 3, entry };
    const expected = decideEntry(harness.state, committed, known.facts, nodeCrypto);
    await compare(await harness.apply(entry), expected);
  }
  return { harness, known };
}
