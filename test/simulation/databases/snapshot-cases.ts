import { beforeAll, describe, expect, test } from "@jest/globals";
import type { OpenExport } from "@event-anchoring/control-plane";
import { type EntryDecision, type LedgerState, advance, stateHeadOf } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { type StateHead, bytesToHex, emptyFrontier, frontierRoot } from "@event-anchoring/protocol";
import type { InstallSnapshotOptions, InstalledSnapshot, SnapshotChecks } from "@event-anchoring/store";
import { NEXT_RULES } from "@event-anchoring/testkit/records";
import type { ConfState } from "raft-ts";
import { SECOND_DOCUMENT, signStateHead } from "../../../packages/store/test/support/cluster.ts";
import { refusalOf } from "../../../packages/store/test/support/database.ts";
import { accepted, claimCommand, eraseCommand, leafAt } from "../../../packages/store/test/support/records.ts";
import { MEMBERS } from "../../../packages/store/test/support/signed-state.ts";
import { event, events, originAt, partsOf } from "../../../packages/store/test/support/stored-ledger.ts";
import type { DatabaseServer, NodeDatabase } from "./databases.ts";
import { type Harness, startedLedger } from "./stored.ts";

const ACCEPT_ALL: SnapshotChecks = { trustRoots: () => undefined, origin: () => undefined };

/** A node with something to send, closed. */
interface Sender {
  readonly database: NodeDatabase;
  readonly harness: Harness;
  readonly state: LedgerState;
  readonly head: StateHead;
  readonly stateRoot: Uint8Array;
}

async function applied(harness: Harness, decision: EntryDecision, confState: ConfState | null): Promise<Uint8Array> {
  const { stateRoot } = await harness.store.apply({ decision, confState });
  advance(harness.state, decision);
  return stateRoot;
}

/** @param confState null: nobody has joined or left */
async function startSender(server: DatabaseServer, confState: ConfState | null): Promise<Sender> {
  const database = await server.create();
  const storage = await database.open();
  const harness = await startedLedger(storage);
  await accepted(harness, claimCommand("ada"));
  await harness.record(events(300, "e"));
  await harness.certify(originAt(0));
  const { writes } = await harness.record([event("erased", { clientEventId: "to be erased" })]);
  await harness.run([eraseCommand(leafAt(writes.leaves, 0))]);
  await harness.run([{ kind: "trust_root", document: SECOND_DOCUMENT }]);
  const last = await harness.decide(harness.entry([{ kind: "mark_state_point" }]));
  const stateRoot = await applied(harness, last, confState);
  await storage.close();
  const head = stateHeadOf(harness.state, { members: confState ?? MEMBERS, stateRoot });
  if (head === null) throw new Error("a state head was due");
  return { database, harness, state: harness.state, head, stateRoot };
}

/** What the database holds now, under a state head that these nodes have signed. */
async function exported(
  { database }: Pick<Sender, "database">,
  head: StateHead,
  signers: readonly string[] = ["a", "b"],
): Promise<OpenExport> {
  const hold = await database.openStateHold();
  const { databaseSnapshot } = await hold.hold();
  const made = await database.exportSnapshot({ databaseSnapshot, stateHead: signStateHead(head, signers) });
  await hold.release();
  return made;
}

async function chunksOf(snapshot: OpenExport): Promise<Uint8Array[]> {
  return Promise.all(snapshot.manifest.chunkHashes.map((_, index) => snapshot.chunk(index)));
}

async function install(
  receiver: NodeDatabase,
  snapshot: OpenExport,
  more: Partial<InstallSnapshotOptions> = {},
): Promise<InstalledSnapshot> {
  const { manifest } = snapshot;
  const chunks = await chunksOf(snapshot);
  const options = { manifest, chunks, checks: ACCEPT_ALL, signers: "quorum", ruleTable: NEXT_RULES } as const;
  return receiver.installSnapshot({ ...options, ...more });
}

export function snapshotCases(server: () => DatabaseServer): void {
  describe("a snapshot", () => {
    let sender: Sender;

    beforeAll(async () => {
      sender = await startSender(server(), MEMBERS);
    }, 240_000);

    const ofSender = (signers?: readonly string[]): Promise<OpenExport> => exported(sender, sender.head, signers);
    exportCases(server);
    installCases(server, () => sender, ofSender);
    checkCases(server, () => sender, ofSender);
    refusalCases(server, () => sender, ofSender);
  });
}

function exportCases(server: () => DatabaseServer): void {
  test("is of the state that was held, whatever is applied after that", async () => {
    const { database, head, ...own } = await startSender(server(), null);
    const hold = await database.openStateHold();
    const { databaseSnapshot, raftIndex } = await hold.hold();
    expect(raftIndex).toBe(own.state.appliedIndex);
    const storage = await database.open();
    await own.harness.on(storage.ledger).record([event("later")]);
    await storage.close();
    const point = { databaseSnapshot, stateHead: signStateHead(head, ["b", "c"]) };
    const made = await database.exportSnapshot(point);
    await hold.release();
    const { manifest } = made;
    expect([manifest.raftIndex, manifest.raftTerm]).toEqual([raftIndex, 3]);
    expect(manifest.effect).toEqual(head.effect);
    expect((await install(await server().create(), made)).point).toEqual({ index: raftIndex, term: 3 });
    await made.close();
    expect(await refusalOf(database.exportSnapshot(point))).toBe("unavailable");
  });

  test("has the chunks that its manifest names, and no other", async () => {
    const own = await startSender(server(), null);
    const made = await exported(own, own.head);
    const { manifest } = made;
    const chunks = await chunksOf(made);
    expect(chunks.map((bytes) => bytesToHex(nodeCrypto.sha256(bytes)))).toEqual(manifest.chunkHashes.map(bytesToHex));
    expect(chunks.reduce((sum, { length }) => sum + length, 0)).toBe(manifest.totalBytes);
    await expect(made.chunk(chunks.length)).rejects.toThrow(RangeError);
    await expect(made.chunk(-1)).rejects.toThrow(RangeError);
    await made.close();
  });
}

function installCases(
  server: () => DatabaseServer,
  sender: () => Sender,
  ofSender: (signers?: readonly string[]) => Promise<OpenExport>,
): void {
  test("gives the receiver the state, the log's beginning and the membership of the sender", async () => {
    const receiver = await server().create();
    const made = await ofSender();
    const point = { index: sender().state.appliedIndex, term: sender().state.appliedTerm };
    expect(await install(receiver, made)).toEqual({ point, confState: MEMBERS });
    const { loadedLog, loadedLedger, close } = await receiver.open();
    expect(loadedLedger.ledger).toEqual(partsOf(sender().state));
    expect(loadedLedger.confState).toEqual(MEMBERS);
    expect(loadedLedger.stateRoot).toEqual(sender().stateRoot);
    expect(loadedLog).toMatchObject({
      hardState: { term: point.term, vote: 0n, commit: point.index },
      compacted: point,
      entries: [],
      commitHint: point.index,
    });
    await close();
    await made.close();
  });

  test("gives the members of trust root version 1 if no node has joined or left", async () => {
    const own = await startSender(server(), null);
    const made = await exported(own, own.head);
    const receiver = await server().create();
    const { confState } = await install(receiver, made);
    expect(new Set(confState.voters)).toEqual(new Set(MEMBERS.voters));
    const { loadedLedger, close } = await receiver.open();
    expect(new Set(loadedLedger.confState?.voters)).toEqual(new Set(MEMBERS.voters));
    await close();
    await made.close();
  });

  test("replaces an older state and its log; a later term and its vote stay", async () => {
    const receiver = await server().create();
    const old = await receiver.open();
    await (await startedLedger(old)).record(events(5, "old"));
    await old.log.append({
      entries: [1, 2, 3].map((index) => ({ index, term: 9, type: "normal", payload: new Uint8Array(3) })),
      hardState: { term: 9, vote: 5n, commit: 3 },
      commit: 3,
    });
    await old.close();
    const made = await ofSender();
    const { point } = await install(receiver, made);
    const { loadedLog, loadedLedger, close } = await receiver.open();
    expect(loadedLog).toMatchObject({ hardState: { term: 9, vote: 5n }, compacted: point, entries: [] });
    expect(loadedLedger.ledger).toEqual(partsOf(sender().state));
    await close();
    await made.close();
  });
}

function checkCases(
  server: () => DatabaseServer,
  sender: () => Sender,
  ofSender: (signers?: readonly string[]) => Promise<OpenExport>,
): void {
  test("shows the checks the chain once, and every origin with its roots", async () => {
    const made = await ofSender();
    const versions: number[] = [];
    const roots: string[] = [];
    const empty = frontierRoot(emptyFrontier(), nodeCrypto.sha256);
    const checks: SnapshotChecks = {
      trustRoots: (chain) => void versions.push(chain?.versions.length ?? 0),
      origin: async ({ treeSize, rootHash, rootAt }) => {
        expect(await rootAt(treeSize)).toEqual(rootHash);
        expect(await rootAt(0)).toEqual(empty);
        expect(await refusalOf(rootAt(treeSize + 1))).toBe("out_of_order");
        roots.push(bytesToHex(rootHash));
      },
    };
    await install(await server().create(), made, { checks });
    const trees = [...sender().state.origins.values()].map(({ tree }) => bytesToHex(tree.rootAt(tree.size)));
    expect(versions).toEqual([2]);
    expect(roots.sort()).toEqual(trees.sort());
    await made.close();
  });

  test("is refused with the very error of a check, and nothing is changed", async () => {
    const made = await ofSender();
    const receiver = await server().create();
    const refuse = (): never => {
      throw new RangeError("not ours");
    };
    for (const checks of [
      { ...ACCEPT_ALL, trustRoots: refuse },
      { ...ACCEPT_ALL, origin: refuse },
    ]) {
      await expect(install(receiver, made, { checks })).rejects.toThrow("not ours");
    }
    const { loadedLedger, close } = await receiver.open();
    expect(loadedLedger.appliedIndex).toBe(0);
    await close();
    await made.close();
  });
}

function refusalCases(
  server: () => DatabaseServer,
  sender: () => Sender,
  ofSender: (signers?: readonly string[]) => Promise<OpenExport>,
): void {
  /** What an installation is refused with, and what the database holds then. */
  async function outcomeOf(made: OpenExport, more: Partial<InstallSnapshotOptions> = {}): Promise<object> {
    const receiver = await server().create();
    const code = await refusalOf(install(receiver, made, more));
    const { loadedLog, loadedLedger, close } = await receiver.open();
    await close();
    await made.close();
    return { code, applied: loadedLedger.appliedIndex, compacted: loadedLog.compacted.index };
  }
  const refused = { code: "snapshot_refused", applied: 0, compacted: 0 };

  test.each([
    ["a quorum must have signed", ["a"], "quorum"],
    ["one honest node must have signed", ["a"], "honest"],
    ["a node must have signed", [], "alone"],
  ] as const)("is refused where %s", async (_, signed, signers) => {
    expect(await outcomeOf(await ofSender(signed), { signers })).toEqual(refused);
  });

  test.each([
    ["alone", ["c"]],
    ["honest", ["a", "c"]],
    ["quorum", ["b", "c"]],
  ] as const)("is taken where as many have signed as %s asks for", async (signers, signed) => {
    const made = await ofSender(signed);
    const { point } = await install(await server().create(), made, { signers });
    expect(point.index).toBe(sender().state.appliedIndex);
    await made.close();
  });

  test("is refused if another state was signed", async () => {
    const other = { ...sender().head, stateRoot: nodeCrypto.sha256(new Uint8Array(1)) };
    expect(await outcomeOf(await exported(sender(), other))).toEqual(refused);
  });

  test("is refused with members that no trust root lists", async () => {
    const strangers = { ...MEMBERS, learners: [4711n] };
    const own = await startSender(server(), strangers);
    expect(await outcomeOf(await exported(own, own.head))).toEqual(refused);
  });

  test("is refused if a chunk is another, or none is there", async () => {
    const changed = await ofSender();
    const chunks = await chunksOf(changed);
    expect(await outcomeOf(changed, { chunks: chunks.map((bytes) => bytes.map((byte) => byte ^ 1)) })).toEqual(refused);
    expect(await outcomeOf(await ofSender(), { chunks: [] })).toEqual(refused);
  });

  test("is refused where that entry is applied already", async () => {
    const made = await ofSender();
    expect(await refusalOf(install(sender().database, made))).toBe("snapshot_refused");
    await made.close();
  });
}
