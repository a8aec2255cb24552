/** What nobody may have put into the ledger: signatures and references that a sound node would have refused. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Command, LeafWrite } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, anchorIdOf, bytesToHex, decodeLeaf, encodeLeaf } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import { describeDifference, exportSnapshot, fsckDatabase, fsckRecords } from "../../src/index.ts";
import type { SnapshotLeaf, SnapshotRecord } from "../../src/snapshot/snapshot-format.ts";
import { GENESIS_DOCUMENT, hash, rootThkOfGenesis } from "../support/cluster.ts";
import { migratedDatabase, startTestPostgres } from "../support/database.ts";
import type { TestDatabase, TestPostgres } from "../support/database.ts";
import {
  accepted,
  actingEvent,
  claimCommand,
  eventsCommand,
  grantCommand,
  revocationCommand,
} from "../support/records.ts";
import { chunksOf, recordsOf } from "../support/snapshots.ts";
import { KEY_COMMAND, LoggedLedger, makeSoundNode } from "../support/sound-node.ts";
import type { SoundNode } from "../support/sound-node.ts";

jest.setTimeout(240_000);

let server: TestPostgres;
let directory: string;
let node: SoundNode;
let records: readonly SnapshotRecord[];

beforeAll(async () => {
  server = await startTestPostgres();
  directory = mkdtempSync(join(tmpdir(), "anchoring-spool-"));
  const database = await migratedDatabase(server);
  node = await makeSoundNode(database);
  records = await recordsIn(database);
});

afterAll(async () => {
  await server.close();
  rmSync(directory, { recursive: true });
});

async function recordsIn(database: TestDatabase): Promise<readonly SnapshotRecord[]> {
  const snapshot = await exportSnapshot({ url: database.url, directory, point: null });
  const found = recordsOf(await chunksOf(snapshot));
  await snapshot.close();
  return found;
}

const BAD = new Uint8Array(64).fill(7);

/** Records whose signatures are none, in a ledger whose nodes all took them. */
const FORGED: readonly (readonly [field: string, command: (holders: Holders) => Command])[] = [
  ["subject_signature", () => altered(claimCommand("dan"), "claim", { subjectSignature: BAD })],
  ["issuer_signature", () => altered(claimCommand("dan"), "claim", { issuerSignature: BAD })],
  ["grantor_signature", (s) => altered(grantCommand(s.ada, s.bob), "grant", { grantorSignature: BAD })],
  ["witness_signature", (s) => altered(grantCommand(s.ada, s.bob), "grant", { witnessSignature: BAD })],
  [
    "actor_signature",
    () => {
      const event = actingEvent("forged", { actor: "ada" });
      return eventsCommand([{ ...event, actor: { publicKey: event.actor?.publicKey ?? BAD, signature: BAD } }]);
    },
  ],
  [
    "signature",
    (s) => {
      const command = revocationCommand("claim", s.ada.claim, { by: "issuer" });
      const publicKey = command.kind === "record_revocation" ? command.revocation.signer?.publicKey : undefined;
      return altered(command, "revocation", { signer: { publicKey: publicKey ?? BAD, signature: BAD } });
    },
  ],
];

interface Holders {
  readonly ada: { readonly name: string; readonly claim: LeafWrite };
  readonly bob: { readonly name: string; readonly claim: LeafWrite };
}

function altered(command: Command, part: string, change: object): Command {
  const whole = command as unknown as Record<string, object>;
  return { ...whole, [part]: { ...whole[part], ...change } } as unknown as Command;
}

describe("a signature that is none, which every node has taken, is found by its field", () => {
  test.each(FORGED)("%s", async (field, commandOf) => {
    const database = await migratedDatabase(server);
    const ledger = await LoggedLedger.begin(database.url);
    await ledger.run([{ kind: "genesis", document: GENESIS_DOCUMENT }]);
    await ledger.run([KEY_COMMAND]);
    const [ada, bob] = [await accepted(ledger, claimCommand("ada")), await accepted(ledger, claimCommand("bob"))];
    ledger.crypto = { sha256: nodeCrypto.sha256, ed25519Verify: () => true };
    const holders = { ada: { name: "ada", claim: ada }, bob: { name: "bob", claim: bob } };
    const { sequence } = await accepted(ledger, commandOf(holders));
    await ledger.finish(database.url);
    const { differences } = await fsckDatabase({ url: database.url, pinnedRootThk: null, findsAll: true });
    const told = differences.map(describeDifference);
    expect(told[0]).toContain(`state.anchors, sequence ${sequence}, leaf: is ${field} is none of key`);
    // Whoever signs second signs the first signature too.
    expect(told.every((each) => each.startsWith(`state.anchors, sequence ${sequence}, leaf: is `))).toBe(true);
  });
});

/** The stream with other records in the place of some. */
function changed(change: (record: SnapshotRecord, at: number) => SnapshotRecord | null): SnapshotRecord[] {
  return records.flatMap((record, at) => change(record, at) ?? []);
}

/** The last leaf of a sequence, altered: nothing stands on it. */
function withLeaf({ sequence }: { readonly sequence: number }, change: (leaf: Leaf) => Leaf): SnapshotRecord[] {
  const isIt = (record: SnapshotRecord): record is SnapshotLeaf =>
    record.type === "leaf" && decodeLeaf(record.bytes).sequence === sequence;
  return changed((record) =>
    isIt(record) ? { ...record, bytes: encodeLeaf(change(decodeLeaf(record.bytes))) } : record,
  );
}

/** The stream up to the leaf of this sequence: what comes behind cannot tell. */
function upTo({ sequence }: { readonly sequence: number }): SnapshotRecord[] {
  const end = records.findIndex((one) => one.type === "leaf" && decodeLeaf(one.bytes).sequence === sequence);
  return records.slice(0, end + 1);
}

async function firstOf(stream: readonly SnapshotRecord[]): Promise<string | null> {
  const { differences } = await fsckRecords(stream, { pinnedRootThk: rootThkOfGenesis() });
  return differences[0] === undefined ? null : describeDifference(differences[0]);
}

const STREAMS: readonly (readonly [what: string, stream: () => readonly SnapshotRecord[], told: RegExp])[] = [
  ["no header", () => records.slice(1), /^state\.ledger/u],
  ["no end", () => records.slice(0, -1), /^state\.ledger/u],
  [
    "no trust roots",
    () => changed((one) => (one.type === "trust_root" ? null : one)),
    /^state\.trust_roots, version 1: is missing/u,
  ],
  ["one trust root too few", () => changed((one, at) => (at === 2 ? null : one)), /names trust root/u],
  [
    "a leaf altered",
    () => withLeaf(node.plain, (leaf) => ({ ...leaf, eventHash: hash("other") }) as Leaf),
    /^state\.anchors, sequence \d+, leaf: is a leaf after/u,
  ],
  [
    "a leaf of another sequence",
    () => withLeaf(node.plain, (leaf) => ({ ...leaf, sequence: 1 })),
    /of sequence 1, should be/u,
  ],
  ["a leaf of another depth", () => withLeaf(node.plain, (leaf) => ({ ...leaf, depth: 3 })), /of depth 3, should be/u],
  [
    "a leaf before its time",
    () => withLeaf(node.plain, (leaf) => ({ ...leaf, acceptedMs: 5 })),
    /accepted at 5, should be/u,
  ],
  [
    "a leaf of an origin nobody lists",
    () => withLeaf(node.plain, (leaf) => ({ ...leaf, originFingerprint: hash("x") }) as Leaf),
    /of origin .* should be of an origin that is listed/u,
  ],
  [
    "a leaf left out",
    () => changed((one) => (one.type === "leaf" && decodeLeaf(one.bytes).sequence === 100 ? null : one)),
    /^state\.anchors, sequence 100, leaf: is of depth/u,
  ],
  [
    "a client event id of another",
    () =>
      changed((one) =>
        one.type === "leaf" && one.clientEvent?.isErased === false
          ? { ...one, clientEvent: { ...one.clientEvent, clientEventId: "other" } }
          : one,
      ),
    /client_event_id/u,
  ],
  [
    "a client event id that no leaf commits to",
    () =>
      changed((one) =>
        one.type === "leaf" && decodeLeaf(one.bytes).sequence === 0
          ? { ...one, clientEvent: { isErased: true, apiClientId: BAD.slice(16), prefix: BAD.slice(56) } }
          : one,
      ),
    /sequence 0, api_client_id/u,
  ],
  [
    "a certificate before its leaf",
    () => [
      ...records.slice(0, 6),
      ...records.filter(({ type }) => type === "certificate").slice(0, 1),
      ...records.slice(6),
    ],
    /^state\.certificates/u,
  ],
  [
    "a certificate over another root",
    () => changed((one) => (one.type === "certificate" ? { ...one, rootHash: hash("other") } : one)),
    /^state\.certificates, .*root_hash/u,
  ],
  [
    "a certificate that nobody has signed",
    () =>
      changed((one) =>
        one.type === "certificate"
          ? { ...one, cosignatures: one.cosignatures.map((line) => ({ ...line, signature: BAD })) }
          : one,
      ),
    /is no signature/u,
  ],
  [
    "a certificate of too few",
    () => changed((one) => (one.type === "certificate" ? { ...one, cosignatures: one.cosignatures.slice(1) } : one)),
    /is 1 lines, should be 2 lines/u,
  ],
  [
    "an API key under another's name",
    () =>
      changed((one) => (one.type === "api_key" ? { ...one, apiKey: { ...one.apiKey, keyHash: hash("other") } } : one)),
    /^state\.api_keys, .*key_id/u,
  ],
  [
    "a header that expects more",
    () => changed((one) => (one.type === "header" ? { ...one, nextSequence: one.nextSequence + 1 } : one)),
    /^state\.ledger, .*next_sequence/u,
  ],
];

/** Leaves that are the last of what is looked at, so that nothing behind them tells. */
const LAST: readonly (readonly [what: string, pick: () => LeafWrite, change: (leaf: Leaf) => object, told: RegExp])[] =
  [
    [
      "an iris_ref to nothing",
      () => node.signed,
      (leaf) => withRef(leaf, "irisRef", hash("nothing")),
      /names iris_ref .* which is not before it/u,
    ],
    [
      "an iris_ref to a grant",
      () => node.signed,
      (leaf) => withRef(leaf, "irisRef", node.root.anchorId),
      /names iris_ref .* of kind 3, should be of kind 2/u,
    ],
    [
      "a grant_ref to a claim",
      () => node.signed,
      (leaf) => withRef(leaf, "grantRef", node.ada.anchorId),
      /names grant_ref .* of kind 2, should be of kind 3/u,
    ],
    [
      "a parent that is no grant",
      () => node.child,
      () => ({ parentGrantRef: node.ada.anchorId }),
      /names parent_grant_ref/u,
    ],
    [
      "a grantor that is no claim",
      () => node.child,
      () => ({ grantorClaimRef: node.root.anchorId }),
      /names grantor_claim_ref/u,
    ],
    [
      "a revocation of nothing",
      () => node.revocation,
      () => ({ targetAnchorId: hash("nothing") }),
      /names target_anchor_id/u,
    ],
    [
      "a revocation of an event",
      () => node.revocation,
      () => ({ targetAnchorId: node.signed.anchorId }),
      /of kind 6, should be of kind 2 or 3/u,
    ],
    [
      "a revocation by somebody else",
      () => node.revocation,
      () => ({ revoker: hash("somebody") }),
      /revokes as issuer, should be as no party/u,
    ],
    [
      "a revocation by another right",
      () => node.revocation,
      () => ({ authority: 2 }),
      /revokes as subject, should be as issuer/u,
    ],
  ];

function withRef(leaf: Leaf, field: string, anchorId: Uint8Array): object {
  if (leaf.kind !== LEAF_KIND.signedEvent) throw new Error("not a signed event");
  return { semanticAnchor: { ...leaf.semanticAnchor, [field]: anchorId } };
}

describe("of a stream of records", () => {
  test("a sound one has no differences, and the trees of the node", async () => {
    const report = await fsckRecords(records, { pinnedRootThk: rootThkOfGenesis() });
    expect(report.differences).toEqual([]);
    expect(report.checked).toMatchObject({ leaves: node.nextSequence, certificates: 5 });
    expect(report.origins.every(({ certifiedSize, rootHash }) => certifiedSize > 0 && rootHash !== null)).toBe(true);
  });

  test.each(STREAMS)("it finds %s", async (_, stream, told) => {
    expect(await firstOf(stream())).toMatch(told);
  });

  test.each(LAST)("it finds %s", async (_, pick, change, told) => {
    const stream = upTo(pick());
    const last = stream.at(-1);
    if (last?.type !== "leaf") throw new Error("the stream does not end with a leaf");
    const leaf = decodeLeaf(last.bytes);
    const bytes = encodeLeaf({ ...leaf, ...change(leaf) });
    const { differences } = await fsckRecords([...stream.slice(0, -1), { ...last, bytes }], {
      pinnedRootThk: null,
      findsAll: true,
    });
    const ofLeaf = differences.filter(({ key }) => key === `sequence ${leaf.sequence}`).map(describeDifference);
    expect(ofLeaf).toContainEqual(expect.stringMatching(told));
    expect(bytesToHex(anchorIdOf(bytes, nodeCrypto.sha256))).not.toBe(bytesToHex(pick().anchorId));
  });
});
