import type { ShownCertificate, PeerCosignature } from "@event-anchoring/control-contract";
import { membershipContext } from "@event-anchoring/control-plane";
import type { EntryDecision } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  RecentTree,
  type TrustRoot,
  LEAF_KIND,
  bytesToHex,
  decodeLeaf,
  emptyFrontier,
  meetsQuorum,
  parseNote,
  quorumPolicyOf,
} from "@event-anchoring/protocol";
import type { ConfState, Entry, EntryId, HardState, InboundMessage, RaftIndex, Term } from "raft-ts";
import { simulatedCrypto } from "../trust/simulated-crypto.ts";
import type { SimulatedDatabase } from "../disks/simulated-database.ts";
import { WORLD_START_MS } from "../world/simulated-process.ts";
import type { SimulatedVolume } from "../disks/simulated-volume.ts";

const { sha256 } = nodeCrypto;

/** The first broken invariant. */
export interface Broken {
  readonly sentence: string;
  readonly detail: string;
  readonly atMs: number;
}

/** What a machine keeps over a crash. */
export interface Disks {
  readonly database: SimulatedDatabase;
  readonly volume: SimulatedVolume;
}

interface KnownEntry {
  readonly payload: Uint8Array;
  /** A bit for each machine that has had it durable. */
  holders: number;
}

interface CanonicalEntry {
  readonly term: Term;
  readonly effect: string;
  /** After it. */
  readonly members: string;
}

interface CanonicalOrigin {
  readonly tree: RecentTree;
  /** Anchor ids in hex, by depth. */
  readonly leaves: string[];
}

export interface InvariantsOptions {
  readonly nowMs: () => number;
  /** The version that judges a head. */
  readonly rootOf: (version: number) => TrustRoot;
  /** A machine's disks; a clone has its own. */
  readonly disksOf: (machine: string) => Disks;
  /** A bit for each machine, which its clones share. */
  readonly bitOf: (machine: string) => number;
  /** The same by raft id. */
  readonly bitOfVoter: (raftId: bigint) => number;
  /** Raft ids of the voters that a life begins with. */
  readonly voters: readonly bigint[];
}

/** Entry stamps may be this far from true time: the guard's bound, plus the age of a report. */
const STAMP_OFF_MAX_MS = 5000 + 500;

/**
 * Watches everything that leaves a node, becomes durable, or is answered to a client, and checks invariants. A method
 * that is named as a sentence checks that invariant; it does not throw, but records the first violation.
 */
export class Invariants {
  readonly #options: InvariantsOptions;
  readonly #leaders = new Map<number, string>();
  readonly #entries = new Map<string, KnownEntry>();
  readonly #canonical: CanonicalEntry[] = [];
  readonly #origins = new Map<string, CanonicalOrigin>();
  readonly #anchors = new Map<string, { readonly origin: string; readonly depth: number }>();
  readonly #clientEvents = new Map<string, string>();
  /** By signer, origin and size. */
  readonly #signed = new Map<string, string>();
  readonly #rootsSigned = new Map<string, string>();
  readonly #newestSigned = new Map<string, number>();
  readonly #goodCheckpoints = new Set<string>();
  /** By origin: the largest size that any client was shown, or is entitled to. */
  readonly #told = new Map<string, number>();
  readonly #acknowledged = new Map<string, string>();
  readonly #leaves: Uint8Array[] = [];
  readonly #contents = new Set<string>();
  readonly #recorded = new Map<string, number>();
  /** Membership changes that were proposed, by index and term: the version that each follows from, in hex. */
  readonly #changes = new Map<string, string>();
  /** Entries that erased something. */
  readonly #erasures = new Map<string, number>();
  /** Anchors, in hex, whose erasure was acknowledged. */
  readonly erased = new Set<string>();
  /** By bit: the voters of each group, oldest first. */
  readonly #electorates: number[] = [];
  #trustRootVersion = 1;
  broken: Broken | null = null;

  constructor(options: InvariantsOptions) {
    this.#options = options;
    this.#elect(options.voters);
  }

  get entriesCommitted(): number {
    return this.#canonical.length;
  }

  get anchorsAcknowledged(): number {
    return this.#acknowledged.size;
  }

  #elect(voters: readonly bigint[]): void {
    const mask = voters.reduce((bits, voter) => bits | this.#options.bitOfVoter(voter), 0);
    if (mask !== this.#electorates.at(-1)) this.#electorates.push(mask);
  }

  /** Records any other violation. */
  fail(sentence: string, detail: string): void {
    this.broken ??= { sentence, detail, atMs: this.#options.nowMs() };
  }

  onDurable(machine: string, entries: readonly Entry[], _hardState: HardState | null): void {
    const bit = this.#options.bitOf(machine);
    for (const entry of entries) {
      const key = `${entry.index}:${entry.term}`;
      const known = this.#entries.get(key);
      if (known === undefined) this.#entries.set(key, { payload: entry.payload, holders: bit });
      else {
        this.entriesOfOneIndexAndTermAreTheSame(entry, known);
        known.holders |= bit;
      }
    }
  }

  entriesOfOneIndexAndTermAreTheSame(entry: Entry, known: KnownEntry): void {
    if (entry.payload === known.payload) return;
    const isSame =
      entry.payload.length === known.payload.length && entry.payload.every((byte, at) => byte === known.payload[at]);
    if (!isSame) this.fail("entriesOfOneIndexAndTermAreTheSame", `index ${entry.index}, term ${entry.term}`);
  }

  /** @param confState the membership after it, if it changes that; null: it does not */
  onDecided(machine: string, decision: EntryDecision, confState: ConfState | null): void {
    const { index, term } = decision;
    this.anEntryIsAppliedOnceItIsDurableHere(machine, index, term);
    const known = this.#canonical[index - 1];
    if (known !== undefined) return this.appliedEntriesAgreeEverywhere(machine, decision, confState, known);
    this.whatIsAppliedIsDurableOnAQuorum(machine, index, term);
    const before = this.#canonical[index - 2]?.members ?? `${this.#options.voters.join()};`;
    const members = confState === null ? before : membersOf(confState);
    if (members !== before) this.membershipFollowsTheTrustRootInForce(index, term);
    if (confState !== null) this.#elect(confState.voters);
    this.#canonical[index - 1] = { term, effect: bytesToHex(decision.effect), members };
    this.#extend(decision);
  }

  appliedEntriesAgreeEverywhere(
    machine: string,
    { index, term, effect }: EntryDecision,
    confState: ConfState | null,
    known: CanonicalEntry,
  ): void {
    const isSameMembership = confState === null || membersOf(confState) === known.members;
    if (known.term === term && known.effect === bytesToHex(effect) && isSameMembership) return;
    const detail = `${machine} applied index ${index} of term ${term}; elsewhere it is of term ${known.term}`;
    this.fail("appliedEntriesAgreeEverywhere", known.term === term ? `${detail}, with another effect` : detail);
  }

  /** A leader has appended a membership change. */
  onChangeProposed({ index, term }: EntryId, context: Uint8Array): void {
    this.#changes.set(`${index}:${term}`, bytesToHex(context));
  }

  membershipFollowsTheTrustRootInForce(index: RaftIndex, term: Term): void {
    const context = this.#changes.get(`${index}:${term}`);
    const inForce = bytesToHex(membershipContext(this.#trustRootVersion));
    if (context === undefined || context === inForce) return;
    const detail = `entry ${index} changes members by version ${context}, in force is ${inForce}`;
    this.fail("membershipFollowsTheTrustRootInForce", detail);
  }

  anEntryIsAppliedOnceItIsDurableHere(machine: string, index: RaftIndex, term: Term): void {
    if (this.#options.disksOf(machine).database.holds({ index, term })) return;
    this.fail("anEntryIsAppliedOnceItIsDurableHere", `${machine} applies ${index} of term ${term}`);
  }

  whatIsAppliedIsDurableOnAQuorum(machine: string, index: RaftIndex, term: Term): void {
    const holders = this.#entries.get(`${index}:${term}`)?.holders ?? 0;
    if (this.#isQuorum(holders)) return;
    this.fail(
      "whatIsAppliedIsDurableOnAQuorum",
      `${machine} applied ${index} of term ${term}, held by ${bitsIn(holders)}`,
    );
  }

  /**
   * A quorum of the voters, or of the previous ones: an entry proposed before a change may be committed by the old
   * group.
   */
  #isQuorum(holders: number): boolean {
    return this.#electorates.slice(-2).some((voters) => bitsIn(holders & voters) * 2 > bitsIn(voters));
  }

  /** As a leader appends it. */
  everyStampIsNearTheTruth(machine: string, acceptedMs: number): void {
    const offMs = acceptedMs - WORLD_START_MS - this.#options.nowMs();
    if (Math.abs(offMs) <= STAMP_OFF_MAX_MS) return;
    this.fail("everyStampIsNearTheTruth", `${machine} stamps an entry ${Math.round(offMs)} ms from true time`);
  }

  #extend({ writes, index }: EntryDecision): void {
    for (const { version } of writes.trustRoots) this.#trustRootVersion = version;
    for (const { anchorId } of writes.erasures) this.#erasures.set(bytesToHex(anchorId), index);
    for (const leaf of writes.leaves) {
      const key = bytesToHex(leaf.originFingerprint);
      const origin = this.#originOf(key);
      const anchorId = bytesToHex(leaf.anchorId);
      if (leaf.depth !== origin.leaves.length) {
        this.fail(
          "treesGrowLeafByLeaf",
          `entry ${index} appends depth ${leaf.depth} to ${origin.leaves.length} leaves`,
        );
        return;
      }
      origin.leaves.push(anchorId);
      this.#leaves.push(leaf.bytes);
      this.nothingIsAnchoredTwice(leaf.bytes, anchorId);
      origin.tree.append(leaf.anchorId);
      this.#anchors.set(anchorId, { origin: key, depth: leaf.depth });
    }
    for (const { originFingerprint, treeSize, cosignatures } of writes.certificates) {
      for (const { nodeId } of cosignatures) this.#recorded.set(`${nodeId} ${bytesToHex(originFingerprint)}`, treeSize);
    }
    for (const { apiClientId, clientEventId, anchorId } of writes.clientEvents) {
      this.oneAnchorPerClientEventId(`${bytesToHex(apiClientId)} ${clientEventId}`, bytesToHex(anchorId));
    }
  }

  /** Per origin, the largest size of a recorded certificate that this node has signed. */
  recordedSizesOf(nodeId: string): readonly (readonly [string, number])[] {
    return [...this.#recorded].flatMap(([key, treeSize]) => {
      const [signer = "", origin = ""] = key.split(" ");
      return signer === nodeId ? [[origin, treeSize] as const] : [];
    });
  }

  /** No two operations of a life have the same content. */
  nothingIsAnchoredTwice(leaf: Uint8Array, anchorId: string): void {
    const content = contentNameOf(leaf);
    if (content === null) return;
    if (this.#contents.has(content)) {
      this.fail("nothingIsAnchoredTwice", `the content ${content} of ${anchorId.slice(0, 8)} was anchored before`);
    }
    this.#contents.add(content);
  }

  oneAnchorPerClientEventId(clientEventId: string, anchorId: string): void {
    const known = this.#clientEvents.get(clientEventId);
    if (known === undefined) this.#clientEvents.set(clientEventId, anchorId);
    else if (known !== anchorId) {
      this.fail("oneAnchorPerClientEventId", `${clientEventId} is ${known.slice(0, 8)} and ${anchorId.slice(0, 8)}`);
    }
  }

  #originOf(key: string): CanonicalOrigin {
    let origin = this.#origins.get(key);
    if (origin === undefined) {
      origin = { tree: new RecentTree(emptyFrontier(), sha256), leaves: [] };
      this.#origins.set(key, origin);
    }
    return origin;
  }

  /** A consensus message leaves a machine. */
  onMessage(nodeId: string, machine: string, message: InboundMessage): void {
    const { type, term } = message;
    if (type === "MsgApp" || type === "MsgHeartbeat") this.noTwoLeadersShareATerm(term, nodeId);
    else if (type === "MsgAppResp" && !message.reject) this.anAckSpeaksOfWhatIsDurable(machine, message);
    else if (type === "MsgVoteResp" && !message.reject) this.aVoteLeavesAfterItIsDurable(machine, message);
  }

  noTwoLeadersShareATerm(term: Term, nodeId: string): void {
    const known = this.#leaders.get(term);
    if (known === undefined) this.#leaders.set(term, nodeId);
    else if (known !== nodeId) this.fail("noTwoLeadersShareATerm", `${known} and ${nodeId} lead in term ${term}`);
  }

  anAckSpeaksOfWhatIsDurable(machine: string, { index, term }: InboundMessage): void {
    const { database } = this.#options.disksOf(machine);
    const end = database.compacted.index + database.rows.length;
    if (index > end) {
      this.fail(
        "acksAndVotesLeaveOnlyAfterPersist",
        `${machine} acknowledges ${index}, its durable log ends at ${end}`,
      );
    } else if ((database.hardState?.term ?? 0) < term) {
      const durable = database.hardState?.term ?? 0;
      this.fail("acksAndVotesLeaveOnlyAfterPersist", `${machine} speaks in term ${term}, durable is ${durable}`);
    }
  }

  aVoteLeavesAfterItIsDurable(machine: string, { to, term }: InboundMessage): void {
    const { database, volume } = this.#options.disksOf(machine);
    const durable = database.hardState ?? { term: 0, vote: 0n };
    const remembered = volume.durable ?? { term: 0, vote: 0n };
    for (const [where, kept] of [
      ["the database", durable],
      ["the promise file", remembered],
    ] as const) {
      if (kept.term > term || (kept.term === term && kept.vote === to)) continue;
      this.fail(
        "acksAndVotesLeaveOnlyAfterPersist",
        `${machine} votes in term ${term}; ${where} is in term ${kept.term}`,
      );
    }
  }

  onCosignature(nodeId: string, machine: string, item: PeerCosignature): void {
    const origin = bytesToHex(item.originFingerprint);
    const root = bytesToHex(item.rootHash);
    const key = `${nodeId} ${origin} ${item.treeSize}`;
    const known = this.#signed.get(key);
    if (known === root) return;
    if (known !== undefined) {
      this.fail("noNodeSignsTwoRootsForOneSize", `${nodeId} signs two roots of size ${item.treeSize}`);
      return;
    }
    this.#signed.set(key, root);
    this.nodesSignTheSameRoots(nodeId, `${origin} ${item.treeSize}`, root);
    this.cosignedSizesNeverDecrease(nodeId, origin, item.treeSize);
    this.aCosignatureLeavesAfterItIsPromised(machine, origin, item);
    this.aCosignatureCoversOnlyWhatIsCommitted(machine, item);
  }

  nodesSignTheSameRoots(nodeId: string, head: string, root: string): void {
    const known = this.#rootsSigned.get(head);
    if (known === undefined) this.#rootsSigned.set(head, root);
    else if (known !== root) this.fail("noNodeSignsTwoRootsForOneSize", `${nodeId} signs another root than its peers`);
  }

  cosignedSizesNeverDecrease(nodeId: string, origin: string, treeSize: number): void {
    const key = `${nodeId} ${origin}`;
    const newest = this.#newestSigned.get(key) ?? 0;
    if (treeSize < newest) {
      this.fail("cosignedSizesNeverDecrease", `${nodeId} signs size ${treeSize} after ${newest}`);
    }
    this.#newestSigned.set(key, Math.max(newest, treeSize));
  }

  aCosignatureLeavesAfterItIsPromised(machine: string, origin: string, { treeSize, rootHash }: PeerCosignature): void {
    const head = this.#options.disksOf(machine).volume.durable?.signedHeads.get(origin);
    const isPromised =
      head !== undefined &&
      (head.treeSize > treeSize || (head.treeSize === treeSize && bytesToHex(head.rootHash) === bytesToHex(rootHash)));
    if (isPromised) return;
    const detail = `${machine} signs size ${treeSize}, its promise file holds ${head?.treeSize ?? 0}`;
    this.fail("aCosignatureLeavesAfterItIsPromised", detail);
  }

  aCosignatureCoversOnlyWhatIsCommitted(machine: string, { raftIndex }: PeerCosignature): void {
    const { database } = this.#options.disksOf(machine);
    if (raftIndex <= database.compacted.index) return;
    const row = database.rows[raftIndex - database.compacted.index - 1];
    const holders = row === undefined ? 0 : (this.#entries.get(`${raftIndex}:${row.entry.term}`)?.holders ?? 0);
    if (this.#isQuorum(holders)) return;
    const detail = `${machine} signs the end of entry ${raftIndex}, which ${bitsIn(holders)} hold`;
    this.fail("aCosignatureCoversOnlyWhatIsCommitted", detail);
  }

  /** An anchor was acknowledged to a client: it must stay at this place, under this id. */
  acknowledge(
    operation: string,
    anchorId: string,
    place: { readonly origin: string; readonly depth: number } | null,
  ): void {
    const known = this.#acknowledged.get(operation);
    if (known !== undefined && known !== anchorId) {
      this.fail("oneAnchorPerClientEventId", `${operation} was acknowledged as two anchors`);
    }
    this.#acknowledged.set(operation, anchorId);
    const found = this.#anchors.get(anchorId);
    if (found === undefined) {
      this.fail("acknowledgedAnchorsSurvive", `${operation} was acknowledged and is in nobody's tables`);
      return;
    }
    if (place !== null && (place.origin !== found.origin || place.depth !== found.depth)) {
      this.fail("acknowledgedAnchorsSurvive", `${operation} was acknowledged at another place than it has`);
    }
    this.entitle(found.origin, found.depth + 1);
  }

  /** From now on no reader may see less. */
  entitle(origin: string, treeSize: number): void {
    this.#told.set(origin, Math.max(this.#told.get(origin) ?? 0, treeSize));
  }

  /** What a read that begins now must at least show. */
  floor(): ReadonlyMap<string, number> {
    return new Map(this.#told);
  }

  latestAnchorNeverGoesBack(
    nodeId: string,
    origin: string,
    treeSize: number,
    floor: ReadonlyMap<string, number>,
  ): void {
    const least = floor.get(origin) ?? 0;
    if (treeSize >= least) this.entitle(origin, treeSize);
    else
      this.fail(
        "latestAnchorNeverGoesBack",
        `${nodeId} shows size ${treeSize}; ${least} was shown before it was asked`,
      );
  }

  everyHeadShownIsCertifiedAndTrue(held: ShownCertificate): void {
    if (this.#goodCheckpoints.has(held.checkpoint)) return;
    const key = bytesToHex(held.originFingerprint);
    const { tree } = this.#originOf(key);
    const { text, lines } = parseNote(held.checkpoint);
    const verdict = meetsQuorum(
      lines,
      quorumPolicyOf(this.#options.rootOf(held.trustRootVersion)),
      text,
      simulatedCrypto.ed25519Verify,
    );
    if (!verdict.satisfied)
      this.fail("everyHeadShownIsCertifiedAndTrue", `size ${held.treeSize} lacks a quorum of keys`);
    else if (tree.size < held.treeSize)
      this.fail("everyHeadShownIsCertifiedAndTrue", `size ${held.treeSize} is not applied`);
    else if (bytesToHex(tree.rootAt(held.treeSize)) !== bytesToHex(held.rootHash)) {
      this.fail("everyHeadShownIsCertifiedAndTrue", `the root of size ${held.treeSize} is not that of the leaves`);
    } else this.#goodCheckpoints.add(held.checkpoint);
  }

  /** At the end: every node that serves has every acknowledged anchor, once and in its place. */
  acknowledgedAnchorsSurvive(machine: string): void {
    const leaves = new Map<string, number>();
    for (const { decision } of this.#options.disksOf(machine).database.applied) {
      for (const { anchorId } of decision.writes.leaves) {
        const key = bytesToHex(anchorId);
        leaves.set(key, (leaves.get(key) ?? 0) + 1);
      }
    }
    for (const [operation, anchorId] of this.#acknowledged) {
      const count = leaves.get(anchorId) ?? 0;
      if (count !== 1) this.fail("acknowledgedAnchorsSurvive", `${machine} has ${operation} ${count} times`);
    }
  }

  /** Anchors whose client event id was erased, and whose entry may still be in this machine's log. */
  erasedAnchorsIn(machine: string): readonly string[] {
    const { compacted } = this.#options.disksOf(machine).database;
    return [...this.erased].filter((anchorId) => (this.#erasures.get(anchorId) ?? 0) > compacted.index);
  }

  /** No refused content, whenever it was tried, is in a tree. @param contents by operation */
  whatWasRefusedIsNotAnchored(refused: ReadonlyMap<string, string>): void {
    for (const leaf of this.#leaves) {
      const content = contentNameOf(leaf);
      const operation = content === null ? undefined : refused.get(content);
      if (operation !== undefined)
        this.fail("whatWasRefusedIsNotAnchored", `${operation} was refused, and is anchored`);
    }
  }
}

/** What distinguishes an event or claim of a simulated life; null: neither. */
export function contentNameOf(bytes: Uint8Array): string | null {
  const leaf = decodeLeaf(bytes);
  if (leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent) return bytesToHex(leaf.eventHash);
  return leaf.kind === LEAF_KIND.claim ? bytesToHex(leaf.attributeHash) : null;
}

function membersOf({ voters, learners }: ConfState): string {
  return `${voters.join()};${learners.join()}`;
}

function bitsIn(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count++;
  return count;
}
