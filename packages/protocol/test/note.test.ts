import { describe, expect, test } from "@jest/globals";
import {
  bytesToHex,
  checkpointOrigin,
  cosignatureMessage,
  cosignerName,
  formatCheckpoint,
  formatNote,
  formatPolicy,
  formatVkey,
  hexToBytes,
  isClusterName,
  isNodeId,
  meetsQuorum,
  parseCheckpoint,
  parseNote,
  parsePolicy,
  parseSignatureLine,
  parseVkey,
  rootKeyName,
  satisfiesPolicy,
  toOriginFingerprint,
  verifyKnownLines,
} from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { CRYPTOS, codeOf, loadVectors } from "./vectors.ts";

const { sha256 } = nodeCrypto;

const notes = loadVectors("note.json") as {
  good: { name: string; note: string; vkeys: string[] }[];
  bad: { name: string; error: string; note: string }[];
  vkey: { good: string[]; bad: { error: string; vkey: string }[] };
};

const checkpoints = loadVectors("checkpoint.json") as {
  good: { text: string; origin: string; tree_size: number; root_hash: string }[];
  bad: { name: string; error: string; text: string }[];
  cluster_names: { good: string[]; bad: string[] };
  node_ids: { good: string[]; bad: string[] };
};

interface Cosigned {
  readonly name: string;
  readonly note: string;
  readonly refusal: string | null;
  readonly satisfied: boolean;
  readonly certified_at_s: number | null;
}
const cosignatures = loadVectors("cosignature.json") as {
  policy: string;
  message: { time_s: number; checkpoint: string; bytes: string };
  good: Cosigned[];
  bad: Cosigned[];
  policies: { good: string[]; bad: { name: string; error: string; policy: string }[] };
};

describe("signed notes", () => {
  test.each(notes.good)("reads and prints back: $name", ({ note }) => {
    const { text, lines } = parseNote(note);
    expect(formatNote(text, lines)).toBe(note);
  });

  test.each(CRYPTOS)("every key of a good note has signed it, with %s", (_, crypto) => {
    for (const { note, vkeys } of notes.good) {
      const known = vkeys.map((vkey) => parseVkey(vkey, crypto.sha256));
      const { verified, refusal } = verifyKnownLines(parseNote(note), known, crypto.ed25519Verify);
      expect(refusal).toBeNull();
      expect(verified.map((line) => formatVkey(line.vkey))).toEqual(vkeys);
    }
  });

  test("the end-to-end example has the bytes that other implementations accepted", () => {
    expect(notes.good[0]?.note).toBe(
      [
        "anchor.example/cluster",
        "8",
        "XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=",
        "",
        "\u2014 anchor.example/cluster " +
          "kDB8z6VYVQ0Wseuy4baszNqUdNU2y3ccK03Br2Qg9Q41vup70Nw5xLW4+PiMmNqbAhZoH2J+dil4tyjxUQnvMe+KQgA=",
        "\u2014 anchor.example/node-a " +
          "hZH3FgAAAABkGFDLfIpdctidGcHeCE3CbLAC6HZU0zCT72FoNFeiAS9qtZH0ftAX77ql7wJK7RFw6C0gaRPBOM+r2qAbvfoayWOhBw==",
        "",
      ].join("\n"),
    );
    expect(notes.good[0]?.vkeys).toEqual([
      "anchor.example/cluster+90307ccf+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c",
      "anchor.example/node-a+8591f716+BIE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU",
    ]);
  });

  test("the example key of the signed-note specification has its key id", () => {
    const vkey = parseVkey("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", sha256);
    expect(vkey.keyId).toBe(0x530d903a);
  });

  test.each(notes.bad)("refuses a note: $name", ({ error, note }) => {
    expect(codeOf(() => parseNote(note))).toBe(error);
  });

  test("refuses notes beyond the limit and lone surrogates", () => {
    expect(codeOf(() => parseNote("a".repeat(1_000_001)))).toBe("note_too_large");
    expect(codeOf(() => parseNote("\ud800\n\n\u2014 a AAAAAAA=\n"))).toBe("note_text_invalid");
    expect(codeOf(() => parseSignatureLine(""))).toBe("signature_line_invalid");
    expect(() => formatNote("no newline", [])).toThrow(RangeError);
  });

  test.each(notes.vkey.good)("vkey %s", (vkey) => {
    expect(formatVkey(parseVkey(vkey, sha256))).toBe(vkey);
  });

  test.each(notes.vkey.bad)("refuses the vkey $vkey", ({ error, vkey }) => {
    expect(codeOf(() => parseVkey(vkey, sha256))).toBe(error);
  });

  test("refuses two keys that share name and key id", () => {
    const vkey = parseVkey(notes.vkey.good[0] ?? "", sha256);
    const other = { ...vkey, publicKey: new Uint8Array(32).fill(1) };
    const { refusal } = verifyKnownLines({ text: "a\n", lines: [] }, [vkey, other], nodeCrypto.ed25519Verify);
    expect(refusal).toEqual({ code: "key_ambiguous", name: vkey.name });
  });
});

describe("checkpoints", () => {
  test.each(checkpoints.good)("reads and prints back size $tree_size", ({ text, origin, tree_size, root_hash }) => {
    const checkpoint = parseCheckpoint(text);
    expect(checkpoint).toEqual({ origin, treeSize: tree_size, rootHash: hexToBytes(root_hash) });
    expect(formatCheckpoint(checkpoint)).toBe(text);
  });

  test.each(checkpoints.bad)("refuses $name", ({ error, text }) => {
    expect(codeOf(() => parseCheckpoint(text))).toBe(error);
  });

  test("refuses to print what it would not read", () => {
    const rootHash = new Uint8Array(32);
    expect(() => formatCheckpoint({ origin: "", treeSize: 1, rootHash })).toThrow(RangeError);
    expect(() => formatCheckpoint({ origin: "a\nb", treeSize: 1, rootHash })).toThrow(RangeError);
    expect(() => formatCheckpoint({ origin: "a", treeSize: -1, rootHash })).toThrow(RangeError);
    expect(() => formatCheckpoint({ origin: "a", treeSize: 1, rootHash: new Uint8Array(31) })).toThrow(RangeError);
  });

  test("names", () => {
    const { cluster_names: clusters, node_ids: nodes } = checkpoints;
    expect(clusters.good.filter(isClusterName)).toEqual(clusters.good);
    expect(clusters.bad.filter(isClusterName)).toEqual([]);
    expect(nodes.good.filter(isNodeId)).toEqual(nodes.good);
    expect(nodes.bad.filter(isNodeId)).toEqual([]);
    const fingerprint = toOriginFingerprint(new Uint8Array(32));
    expect(checkpointOrigin("a/b", fingerprint)).toBe(`a/b/origin/${"00".repeat(32)}`);
    expect([cosignerName("a", "n"), rootKeyName("a", "1")]).toEqual(["a/node/n", "a/root/1"]);
    expect(codeOf(() => checkpointOrigin("A", fingerprint))).toBe("name_invalid");
    expect(codeOf(() => cosignerName("a", "1"))).toBe("name_invalid");
    expect(codeOf(() => rootKeyName("a", ""))).toBe("name_invalid");
  });
});

describe("cosignatures", () => {
  test("the signed bytes", () => {
    const { time_s, checkpoint, bytes } = cosignatures.message;
    expect(bytesToHex(cosignatureMessage(time_s, checkpoint))).toBe(bytes);
    expect(() => cosignatureMessage(-1, checkpoint)).toThrow(RangeError);
    expect(() => cosignatureMessage(0.5, checkpoint)).toThrow(RangeError);
  });

  describe.each(CRYPTOS)("with %s", (_, crypto) => {
    test.each([...cosignatures.good, ...cosignatures.bad])("$name", (cosigned) => {
      const policy = parsePolicy(cosignatures.policy, crypto.sha256);
      const { text, lines } = parseNote(cosigned.note);
      const cosigners = policy.witnesses.map((witness) => witness.vkey);
      const verdict = meetsQuorum(lines, { threshold: 2, cosigners }, text, crypto.ed25519Verify);
      expect(verdict.satisfied).toBe(cosigned.satisfied);
      expect(verdict.refusal?.code ?? null).toBe(cosigned.refusal);
      expect(verdict.certifiedAtS).toBe(cosigned.certified_at_s);
      expect(satisfiesPolicy(policy, verdict.verified)).toBe(cosigned.satisfied);
    });
  });

  test("one key under two names counts once, and threshold 0 is never met", () => {
    const { text, lines } = parseNote(cosignatures.good[0]?.note ?? "");
    const { witnesses } = parsePolicy(cosignatures.policy, sha256);
    const [a] = witnesses.map((witness) => witness.vkey);
    if (a === undefined) throw new TypeError("the policy has witnesses");
    const accepting = (): boolean => true;
    const alias = { ...a, name: "alias" };
    const both = [...lines, { ...(lines[0] ?? { keyId: 0, signature: new Uint8Array(0) }), name: "alias" }];
    const twice = meetsQuorum(both, { threshold: 2, cosigners: [a, alias] }, text, accepting);
    expect([twice.satisfied, twice.verified.length]).toEqual([false, 1]);
    expect(meetsQuorum(lines, { threshold: 0, cosigners: [a] }, text, accepting).satisfied).toBe(false);
  });
});

describe("policies", () => {
  test.each(cosignatures.policies.good)("reads its own print of %j", (policy) => {
    const parsed = parsePolicy(policy, sha256);
    expect(parsePolicy(formatPolicy(parsed), sha256)).toEqual(parsed);
  });

  test.each(cosignatures.policies.bad)("refuses $name", ({ error, policy }) => {
    expect(codeOf(() => parsePolicy(policy, sha256))).toBe(error);
  });

  test("refuses endless ones", () => {
    expect(codeOf(() => parsePolicy("\n".repeat(2000), sha256))).toBe("policy_too_large");
  });
});
