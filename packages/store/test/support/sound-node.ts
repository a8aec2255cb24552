/** A node's whole database, with a row of every kind: what fsck must find nothing in. */
import { SCOPES, advance, decideEntry, emptyLedgerState, encodeEntry, factsNeeded } from "@event-anchoring/ledger";
import type { Command, Entry, EntryDecision, LeafWrite } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, raftIdOf } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { IdentityStore, LedgerStore, RaftLog } from "../../src/index.ts";
import { CLUSTER_ID, GENESIS_DOCUMENT, SECOND_DOCUMENT, hash } from "./cluster.ts";
import type { TestDatabase } from "./database.ts";
import {
  accepted,
  actingEvent,
  claimCommand,
  eraseCommand,
  eventsCommand,
  grantCommand,
  leafAt,
  revocationCommand,
} from "./records.ts";
import { SMALL_RUNS, runsWritten } from "./look-up-runs.ts";
import { CLIENT_ID, CREDENTIAL, StoredLedgerHarness, event, events, originAt } from "./stored-ledger.ts";

const TERM = 3;

/** The key that every record is written with, and another one. */
function createKey(label: string): Command {
  const key = { apiClientId: CLIENT_ID, label, scopes: [...SCOPES], expiresMs: 0, requestsPerSecond: 7 };
  return { kind: "create_api_key", key: { keyHash: hash(label), ...key } };
}

/** Makes the key that every record of the support files is written with. */
export const KEY_COMMAND = createKey("key");

/** Remembers what the log must hold. */
export class LoggedLedger extends StoredLedgerHarness {
  readonly entries: Entry[] = [];
  /** By what signatures are judged when entries are decided. */
  crypto: Crypto = nodeCrypto;

  static async begin(url: string): Promise<LoggedLedger> {
    const store = await LedgerStore.open({ url, runSizes: SMALL_RUNS });
    await store.load();
    return new LoggedLedger(store, emptyLedgerState(nodeCrypto.sha256));
  }

  override async apply(entry: Entry): Promise<EntryDecision> {
    const facts = await this.store.loadFacts(factsNeeded(entry, this.state));
    const committed = { index: this.state.appliedIndex + 1, term: TERM, entry };
    const decision = decideEntry(this.state, committed, facts, this.crypto);
    await this.store.apply({ decision, confState: null });
    advance(this.state, decision);
    this.entries.push(entry);
    return decision;
  }

  /** Writes log, term and identity beside the state, with two entries that are not applied yet; closes all. */
  async finish(url: string): Promise<void> {
    await this.store.close();
    const waiting = [this.entry([]), this.entry([createKey("third key")])];
    const log = await RaftLog.open({ url });
    await log.load();
    const commit = this.entries.length;
    const entries = [...this.entries, ...waiting].map((entry, at) => {
      return { index: at + 1, term: TERM, type: "normal" as const, payload: encodeEntry(entry) };
    });
    await log.append({ entries, hardState: { term: TERM + 1, vote: 0n, commit }, commit });
    await log.close();
    const identity = await IdentityStore.open({ url });
    const raftId = raftIdOf(CLUSTER_ID, "a", nodeCrypto.sha256);
    await identity.insert({ pairId: hash("pair").slice(0, 16), nodeId: "a", clusterId: CLUSTER_ID, raftId });
    await identity.close();
  }
}

/** Leaves by what they are for. */
export interface SoundNode {
  readonly ada: LeafWrite;
  /** The same pair, which takes the place of `ada`. */
  readonly adaAgain: LeafWrite;
  readonly bob: LeafWrite;
  readonly cyd: LeafWrite;
  /** From ada to bob, superseded. */
  readonly root: LeafWrite;
  /** Below `root`, from bob to cyd, revoked by an operator. */
  readonly child: LeafWrite;
  readonly rootAgain: LeafWrite;
  /** Revokes cyd's claim, signed by the issuer. */
  readonly revocation: LeafWrite;
  /** With a client event id. */
  readonly event: LeafWrite;
  readonly erased: LeafWrite;
  readonly signed: LeafWrite;
  /** Without a client event id. */
  readonly plain: LeafWrite;
  readonly nextSequence: number;
  readonly appliedIndex: number;
  /** Hex, of the API key that the records were written with. */
  readonly keyId: string;
}

async function addRecords(ledger: LoggedLedger): Promise<Omit<SoundNode, "nextSequence" | "appliedIndex" | "keyId">> {
  const ada = await accepted(ledger, claimCommand("ada"));
  const bob = await accepted(ledger, claimCommand("bob", { originFingerprint: originAt(1) }));
  const cyd = await accepted(ledger, claimCommand("cyd", { expiresAt: 1_900_000_000_000 }));
  const holder = {
    ada: { name: "ada", claim: ada },
    bob: { name: "bob", claim: bob },
    cyd: { name: "cyd", claim: cyd },
  };
  const bounds = { expiresAt: 1_890_000_000_000, notBefore: 1_700_000_000_000 };
  const root = await accepted(ledger, grantCommand(holder.ada, holder.bob, bounds));
  const child = await accepted(ledger, grantCommand(holder.bob, holder.cyd, { parent: root, delegationDepth: 3 }));
  const under = { iris: bob, grant: root };
  const signed = await accepted(ledger, eventsCommand([actingEvent("signed", { ...under, actor: "bob" })]));
  const rootAgain = await accepted(ledger, grantCommand(holder.ada, holder.bob, { issuedAt: 5 }));
  await accepted(ledger, revocationCommand("grant", child));
  await accepted(ledger, revocationCommand("grant", child, { by: "witness" }));
  const adaAgain = await accepted(ledger, claimCommand("ada", { issuedAt: 7 }));
  const revocation = await accepted(ledger, revocationCommand("claim", cyd, { by: "issuer", reason: 1 }));
  await accepted(ledger, claimCommand("cyd", { issuedAt: 8 }));
  const plain = await accepted(ledger, eventsCommand([event("plain")]));
  const erased = await accepted(ledger, eventsCommand([event("erased", { clientEventId: "secret" })]));
  await ledger.run([eraseCommand(erased)]);
  const named = await accepted(ledger, eventsCommand([event("named", { clientEventId: "order-1" })]));
  return { ada, adaAgain, bob, cyd, root, child, rootAgain, revocation, event: named, erased, signed, plain };
}

/**
 * Two complete tiles, long and short look-up runs, certificates of two trust roots, records of all kinds, a duplicate
 * and an expired group.
 */
export async function makeSoundNode(database: TestDatabase): Promise<SoundNode> {
  const ledger = await LoggedLedger.begin(database.url);
  await ledger.run([{ kind: "genesis", document: GENESIS_DOCUMENT }]);
  await ledger.run([KEY_COMMAND, createKey("second key")]);
  await ledger.record(events(400, "first"));
  await ledger.certify(originAt(0));
  await ledger.record(events(200, "second"));
  await ledger.certify(originAt(0));
  const leaves = await addRecords(ledger);
  await ledger.certify(originAt(1));
  const twice = ledger.entry([eventsCommand([event("twice")])]);
  await ledger.apply(twice);
  await ledger.apply(twice);
  const late = ledger.entry([eventsCommand([event("late")])]);
  await ledger.apply({ ...late, groups: late.groups.map((group) => ({ ...group, notAfter: 1 })) });
  await ledger.run([{ kind: "trust_root", document: SECOND_DOCUMENT }]);
  await ledger.certify(originAt(0));
  await ledger.certify(originAt(2));
  const { writes } = await ledger.record([event("uncovered", { clientEventId: "newest" })]);
  const { sequence } = leafAt(writes.leaves, 0);
  await ledger.apply(ledger.entry([]));
  const { appliedIndex } = ledger.state;
  await runsWritten(database.url, sequence + 1, SMALL_RUNS);
  await ledger.finish(database.url);
  return { ...leaves, nextSequence: sequence + 1, appliedIndex, keyId: bytesToHex(CREDENTIAL.keyId) };
}
