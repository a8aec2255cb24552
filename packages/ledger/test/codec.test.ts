import { describe, expect, test } from "@jest/globals";
import { ByteWriter, DecodeError, bytesToHex, concatBytes, equalBytes, toAnchorId } from "@event-anchoring/protocol";
import {
  LIMITS,
  LedgerHaltError,
  SCOPES,
  decodeCommand,
  decodeEntry,
  decodeGroup,
  decodeGroupId,
  encodeCommand,
  encodeEntry,
  encodeGroup,
  encodeGroupId,
  encodedGroups,
  scopesFromBits,
  scopesToBits,
} from "../src/index.ts";
import type { Command, Entry, EventInput, OperatorActCommand, OperatorCommand, ProposalGroup } from "../src/index.ts";
import { ABC, GENESIS_DOCUMENT, NODE_A, NODE_B, certify, hash, successor } from "../../../test/worlds/cluster.ts";
import { CREATE_KEY, CREDENTIAL, event, record } from "../../../test/worlds/ledger-harness.ts";
import { claim, grant, operatorRevocation, revocation, signedEvent } from "../../../test/worlds/signed-records.ts";

const anchored = event("anchored", {
  semanticAnchor: { ...event("x").semanticAnchor, bondRef: hash("bond"), eventDataHash: hash("d") },
});
const EVENTS: readonly EventInput[] = [
  event("plain"),
  event("named", { clientEventId: "id ~" }),
  anchored,
  event("elsewhere", { originFingerprint: NODE_B.originFingerprint, clientEventId: "x".repeat(128) }),
  event("back"),
  signedEvent("signed", "actor", { clientEventId: "signed" }),
];
const TARGET = { anchorId: toAnchorId(hash("target")), originFingerprint: NODE_B.originFingerprint };
const CLAIM = claim("subject", { attributeType: 0xffff_ffff, issuedAt: 5, expiresAt: 2 ** 53 - 1 });
const GRANT = grant(
  { name: "a", claim: { ...TARGET, kind: 2, depth: 1, sequence: 1, acceptedMs: 1, bytes: new Uint8Array() } },
  { name: "b", claim: { ...TARGET, kind: 2, depth: 2, sequence: 2, acceptedMs: 1, bytes: new Uint8Array() } },
  { delegationDepth: 0xffff_ffff, notBefore: 1, expiresAt: 2 },
);
const REVOCATION = revocation("grant", TARGET, { by: "a", reason: 5, suspectSince: 9, issuedAt: 10 });
const ROTATE: OperatorCommand = {
  kind: "rotate_api_key",
  keyId: CREDENTIAL.keyId,
  keyHash: hash("new"),
  overlapMs: 60_000,
  expiresMs: 7,
};
const OPERATORS_REVOCATION = operatorRevocation("claim", TARGET, { reason: 1, issuedAt: 3 });
const OPERATORS_ERASURE: OperatorCommand = {
  kind: "erase_client_event",
  credential: null,
  anchorId: TARGET.anchorId,
};
const ACT: OperatorActCommand = {
  kind: "operator_act",
  operator: "alice",
  counter: 2 ** 53 - 1,
  signature: new Uint8Array(64).fill(7),
  command: ROTATE,
};
/** After version, kind, name with its length, counter and signature. */
const ACT_COMMAND_AT = 2 + 7 + 8 + 64;
const COMMANDS: readonly (readonly [string, Command])[] = [
  ["genesis", { kind: "genesis", document: GENESIS_DOCUMENT }],
  ["trust root", { kind: "trust_root", document: successor(ABC) }],
  ["text beyond ASCII", { kind: "trust_root", document: "— ü 🙂" }],
  ["events", record(EVENTS)],
  ["atomic", record(EVENTS.slice(0, 1), { atomic: true })],
  ["API key", CREATE_KEY],
  ["API key with a rate", { ...CREATE_KEY, key: { ...CREATE_KEY.key, requestsPerSecond: 0xffff_ffff } }],
  ["claim", CLAIM],
  ["grant", GRANT],
  ["revocation by a party", REVOCATION],
  ["revocation by an operator", OPERATORS_REVOCATION],
  ["an operator's act of revoking", { ...ACT, command: OPERATORS_REVOCATION }],
  ["erasure by an operator", OPERATORS_ERASURE],
  ["an operator's act of erasing", { ...ACT, command: OPERATORS_ERASURE }],
  ["revocation that nobody signs", revocation("claim", TARGET, { originFingerprint: NODE_A.originFingerprint })],
  ["erasure", { kind: "erase_client_event", credential: CREDENTIAL, anchorId: TARGET.anchorId }],
  ["end of a key", { kind: "revoke_api_key", keyId: CREDENTIAL.keyId }],
  ["rotation of a key", ROTATE],
  ["an operator's act", ACT],
  ["certify point", { kind: "mark_certify_point" }],
  ["raising the rules", { kind: "raise_rules", rules: 0xffff }],
];
const GROUP: ProposalGroup = {
  id: { node: 0xffff_ffff_ffff_fffen, incarnation: 3, counter: 2 ** 53 - 1 },
  notAfter: 50_001,
  commands: COMMANDS.map(([, command]) => command),
};
const CERTIFICATE = certify({ originFingerprint: NODE_A.originFingerprint, treeSize: 9, rootHash: hash("root") }, [
  [NODE_A, 1_700_000_000],
  [NODE_B, 1_700_000_001],
]);
const ENTRY: Entry = {
  version: 1,
  certify: true,
  acceptedMs: 1_800_000_000_123,
  certificates: [CERTIFICATE],
  groups: [GROUP],
};

describe("what is encoded decodes to the same", () => {
  test.each(COMMANDS)("%s", (_, command) => {
    expect(decodeCommand(encodeCommand(command))).toEqual(command);
  });

  test("a group, an entry, a group id", () => {
    expect(decodeGroup(encodeGroup(GROUP))).toEqual(GROUP);
    const commands = GROUP.commands.map((command, at) => (at % 2 === 0 ? encodeCommand(command) : command));
    expect(encodeGroup({ ...GROUP, commands })).toEqual(encodeGroup(GROUP));
    expect(decodeEntry(encodeEntry(ENTRY))).toEqual(ENTRY);
    expect(decodeGroupId(encodeGroupId(GROUP.id))).toEqual(GROUP.id);
  });

  test("groups may be given as bytes", () => {
    const bytes = encodeEntry({ ...ENTRY, groups: [encodeGroup(GROUP)] });
    expect(bytes).toEqual(encodeEntry(ENTRY));
  });

  test.each([0, 1, 3])("the groups of an entry with %d certificates are found as they were given", (count) => {
    const certificates = Array.from({ length: count }, () => CERTIFICATE);
    const other = encodeGroup({ ...GROUP, commands: [CREATE_KEY] });
    for (const groups of [[], [other], [encodeGroup(GROUP), other, encodeGroup(GROUP)]]) {
      const payload = encodeEntry({ ...ENTRY, certificates, groups });
      expect(encodedGroups(payload).map(bytesToHex)).toEqual(groups.map(bytesToHex));
      expect(decodeEntry(payload).groups.map((group) => bytesToHex(encodeGroup(group)))).toEqual(
        groups.map(bytesToHex),
      );
    }
  });

  test("a new key always says its rate, last of all: 0 for none", () => {
    const rated = { ...CREATE_KEY, key: { ...CREATE_KEY.key, requestsPerSecond: 7 } };
    const [without, withRate] = [encodeCommand(CREATE_KEY), encodeCommand(rated)];
    expect([without.slice(-4), withRate.slice(-4)]).toEqual([Uint8Array.of(0, 0, 0, 0), Uint8Array.of(0, 0, 0, 7)]);
    expect(withRate.slice(0, -4)).toEqual(without.slice(0, -4));
  });

  test("every set of scopes has its bits", () => {
    for (let bits = 1; bits < 16; bits++) expect(scopesToBits(scopesFromBits(bits))).toBe(bits);
    expect(scopesFromBits(15)).toEqual([...SCOPES]);
  });
});

/** Decodes, and encodes to the very bytes, or is refused with a DecodeError: there is no third way. */
function isStrict(bytes: Uint8Array): boolean {
  try {
    return equalBytes(encodeGroup(decodeGroup(bytes)), bytes);
  } catch (error) {
    return error instanceof DecodeError;
  }
}

describe("hostile bytes", () => {
  const good = encodeGroup(GROUP);
  const small = encodeGroup({
    ...GROUP,
    commands: [record(EVENTS), CREATE_KEY, CLAIM, GRANT, REVOCATION, revocation("claim", TARGET), ROTATE],
  });

  test("every shortening, and every lengthening, is refused", () => {
    for (let length = 0; length < small.length; length++)
      expect(() => decodeGroup(small.slice(0, length))).toThrow(DecodeError);
    expect(() => decodeGroup(concatBytes(good, new Uint8Array(1)))).toThrow(
      expect.objectContaining({ code: "trailing_bytes" }),
    );
  });

  test("every changed byte decodes to something else, or is refused", () => {
    for (let position = 0; position < small.length; position++) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const bytes = small.slice();
        bytes[position] = (bytes[position] ?? 0) ^ flip;
        expect(isStrict(bytes)).toBe(true);
      }
    }
  });

  const plain = encodeCommand(record([event("plain")]));
  /** Version, tag, client, key, atomic, count: then the flags of the first event. */
  const FLAGS_AT = 1 + 1 + 16 + 16 + 1 + 2;

  function patched(bytes: Uint8Array, position: number, ...values: readonly number[]): Uint8Array {
    const copy = bytes.slice();
    copy.set(values, position);
    return copy;
  }

  const semantic = encodeCommand(record([anchored]));
  const named = encodeCommand(record([event("named", { clientEventId: "abc" })]));
  const NAME_AT = FLAGS_AT + 1 + 32 + 32;
  const key = encodeCommand(CREATE_KEY);
  const act = encodeCommand(ACT);
  /** Version, tag, whether an API client asks, client, key: then the flags. */
  const REVOCATION_FLAGS_AT = 1 + 1 + 1 + 16 + 16;
  const UNSIGNED = revocation("claim", TARGET);

  test.each<[string, Uint8Array]>([
    ["an unknown command version", patched(plain, 0, 2)],
    ["an unknown command", patched(plain, 1, 12)],
    ["command 0", patched(plain, 1, 0)],
    ["a flag that is neither 0 nor 1", patched(plain, FLAGS_AT - 3, 2)],
    ["no events", patched(plain, FLAGS_AT - 2, 0, 0)],
    ["1,001 events", patched(plain, FLAGS_AT - 2, 0x03, 0xe9)],
    ["unknown event flags", patched(plain, FLAGS_AT, 16)],
    ["an actor that is missing", patched(plain, FLAGS_AT, 8)],
    ["a first event without origin", patched(plain, FLAGS_AT, 1)],
    ["an empty semantic anchor that is written out", patched(semantic, FLAGS_AT + 65, ...new Uint8Array(192))],
    ["an empty client event id", patched(named, NAME_AT, 0)],
    ["a client event id of 129 characters", patched(named, NAME_AT, 129)],
    ["a control character in a client event id", patched(named, NAME_AT + 1, 0x1f)],
    ["a character beyond ASCII in a client event id", patched(named, NAME_AT + 1, 0x80)],
    ["DEL in a client event id", patched(named, NAME_AT + 1, 0x7f)],
    ["an origin repeated in full", repeatedOrigin()],
    ["a key without scopes", patched(key, key.length - 13, 0)],
    ["an unknown scope", patched(key, key.length - 13, 16)],
    ["a time above 2^53 - 1", patched(key, key.length - 12, 0x00, 0x20)],
    ["an act of nobody", concatBytes(act.slice(0, 2), Uint8Array.of(0, 0), act.slice(9))],
    ["an act of a name in capitals", patched(act, 4, 0x41)],
    ["an act with a counter above 2^53 - 1", patched(act, 9, 0x00, 0x20)],
    ["an act without what is done", act.slice(0, ACT_COMMAND_AT)],
    ["an act inside an act", concatBytes(act.slice(0, ACT_COMMAND_AT), act)],
    [
      "an API client's revocation as an act",
      concatBytes(act.slice(0, ACT_COMMAND_AT), encodeCommand(revocation("claim", TARGET))),
    ],
    ["a revocation by an operator that a party has signed", signedByBoth()],
    ["an event as an act", concatBytes(act.slice(0, ACT_COMMAND_AT), encodeCommand(record(EVENTS)))],
    ["a key without a rate", key.slice(0, -4)],
    ["a key of a later version", patched(key, 0, 2)],
    ["a claim of a later version", patched(encodeCommand(CLAIM), 0, 2)],
    ["a revocation with unknown flags", patched(encodeCommand(REVOCATION), REVOCATION_FLAGS_AT, 8)],
    ["a revocation for an unknown reason", patched(encodeCommand(REVOCATION), REVOCATION_FLAGS_AT + 65, 6)],
    ["a revocation without its signer", encodeCommand(REVOCATION).slice(0, -96)],
    ["an unsigned revocation with a signer", concatBytes(encodeCommand(UNSIGNED), new Uint8Array(96))],
    ["a document that is not UTF-8", patched(encodeCommand({ kind: "genesis", document: "ab" }), 6, 0xff)],
    ["a document too long to be one", patched(encodeCommand({ kind: "genesis", document: "ab" }), 2, 0x00, 0x04, 0, 1)],
  ])("%s", (_, bytes) => {
    expect(() => decodeCommand(bytes)).toThrow(DecodeError);
  });

  /** Without the API client and its key. */
  function signedByBoth(): Uint8Array {
    const signed = encodeCommand(REVOCATION);
    return concatBytes(signed.slice(0, 2), Uint8Array.of(0), signed.slice(REVOCATION_FLAGS_AT));
  }

  function repeatedOrigin(): Uint8Array {
    const pair = encodeCommand(record([event("one"), event("two", { originFingerprint: NODE_B.originFingerprint })]));
    const second = FLAGS_AT + 1 + 32 + 32 + 1;
    return patched(pair, second, ...NODE_A.originFingerprint);
  }

  test.each<[string, (bytes: Uint8Array) => Uint8Array]>([
    ["an unknown group version", (bytes) => patched(bytes, 0, 2)],
    ["no commands", (bytes) => patched(bytes, 33, 0, 0)],
    ["1,025 commands", (bytes) => patched(bytes, 33, 4, 1)],
    ["an index above 2^53 - 1", (bytes) => patched(bytes, 25, 0xff)],
  ])("a group with %s", (_, change) => {
    expect(() => decodeGroup(change(small))).toThrow(DecodeError);
  });
});

describe("entries", () => {
  const bytes = encodeEntry(ENTRY);

  function haltCode(entry: Uint8Array): string {
    try {
      decodeEntry(entry);
      return "none";
    } catch (error) {
      if (error instanceof LedgerHaltError) return error.code;
      throw error;
    }
  }

  test("of an unknown version halt, and are never skipped", () => {
    for (const version of [0, 2, 255]) {
      const other = bytes.slice();
      other[0] = version;
      expect(haltCode(other)).toBe("entry_version_unknown");
    }
  });

  test("that are malformed halt", () => {
    const flagged = bytes.slice();
    flagged[1] = 2;
    for (const broken of [flagged, bytes.slice(0, -1), concatBytes(bytes, new Uint8Array(1)), new Uint8Array(0)])
      expect(haltCode(broken)).toBe("entry_malformed");
  });

  test("a certificate names legal nodes", () => {
    const nodeIdAt = 14 + 32 + 8 + 32 + 1 + 1;
    const broken = bytes.slice();
    broken[nodeIdAt] = 0x41;
    expect(haltCode(broken)).toBe("entry_malformed");
    broken[nodeIdAt] = 0xc3;
    expect(haltCode(broken)).toBe("entry_malformed");
  });
});

describe("a value out of its bounds is not encoded", () => {
  const salted: EventInput = { ...event("x"), clientEventSalt: hash("salt") };
  const firstKey = CREATE_KEY;
  const shortSignature = { ...CLAIM, claim: { ...CLAIM.claim, subjectSignature: new Uint8Array(63) } };

  test.each<[string, Command]>([
    ["no events", record([])],
    ["too many events", record(Array.from({ length: LIMITS.batchEventsMax + 1 }, () => event("x")))],
    ["a salt without an id", record([salted])],
    ["an id without a salt", record([{ ...event("x"), clientEventId: "id" }])],
    ["an empty id", record([event("x", { clientEventId: "" })])],
    ["a long id", record([event("x", { clientEventId: "x".repeat(129) })])],
    ["an id beyond ASCII", record([event("x", { clientEventId: "ü" })])],
    ["a short hash", record([{ ...event("x"), eventHash: new Uint8Array(31) }])],
    ["no scopes", { ...firstKey, key: { ...firstKey.key, scopes: [] } }],
    ["a scope twice", { ...firstKey, key: { ...firstKey.key, scopes: ["read", "read"] } }],
    ["a time that is no integer", { ...firstKey, key: { ...firstKey.key, expiresMs: 0.5 } }],
    ["a rate beyond 32 bits", { ...firstKey, key: { ...firstKey.key, requestsPerSecond: 2 ** 32 } }],
    ["an attribute type beyond 32 bits", { ...CLAIM, claim: { ...CLAIM.claim, attributeType: 2 ** 32 } }],
    ["an unknown reason", { ...REVOCATION, revocation: { ...REVOCATION.revocation, reason: 6 } }],
    ["a short signature", shortSignature],
    ["a document too large", { kind: "genesis", document: "x".repeat(LIMITS.trustRootBytesMax + 1) }],
  ])("%s", (_, command) => {
    expect(() => encodeCommand(command)).toThrow(RangeError);
  });

  test("an entry over 1 MiB, a group without commands, a raft id beyond 64 bits", () => {
    const large = new ByteWriter(LIMITS.entryBytesMax).bytes(new Uint8Array(LIMITS.entryBytesMax)).finish();
    expect(() => encodeEntry({ ...ENTRY, groups: [large] })).toThrow(RangeError);
    expect(() => encodeGroup({ ...GROUP, commands: [] })).toThrow(RangeError);
    expect(() => encodeGroupId({ ...GROUP.id, node: 2n ** 64n })).toThrow(RangeError);
    expect(() => encodeGroupId({ ...GROUP.id, node: -1n })).toThrow(RangeError);
  });
});
