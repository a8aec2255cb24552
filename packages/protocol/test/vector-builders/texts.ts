/** Hex, base64, integers, Ed25519, notes, checkpoints, cosignatures and policies. */
import { createSigner } from "@event-anchoring/node-crypto";
import {
  VKEY_TYPE,
  asciiToBytes,
  bytesToBase64,
  bytesToHex,
  checkpointOrigin,
  cosignatureLine,
  cosignatureMessage,
  formatCheckpoint,
  formatNote,
  formatPolicy,
  formatSignatureLine,
  formatVkey,
  hexToBytes,
  makeVkey,
  noteMessage,
  noteSignatureLine,
  tlogPolicyOf,
} from "@event-anchoring/protocol";
import type { SignatureLine } from "@event-anchoring/protocol";
import {
  clusterName,
  cosign,
  fill,
  logLine,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  nodeEntry,
  originEntry,
  sha256,
  stranger,
  version1,
  version2,
} from "./fixtures.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";
import { leafTree } from "./trees.ts";

export function bytesVectors(): Json {
  return {
    about: "Text to bytes. `result` is lower-case hex; u64 values are big-endian and at most 2^53 - 1.",
    hex: {
      good: [
        { text: "", result: "" },
        { text: "00ff", result: "00ff" },
        { text: "AbCdEf", result: "abcdef" },
      ],
      bad: ["0", "0x00", "0g", " 00", "00 ", "00\n", "-1", "٠٠", "00:11"],
    },
    base64: {
      good: [
        { text: "", result: "" },
        { text: "AA==", result: "00" },
        { text: "+/8=", result: "fbff" },
        { text: "AAEC", result: "000102" },
      ],
      bad: [
        "A",
        "AA",
        "AAA",
        "AA=",
        "=AA=",
        "AB==",
        "AAF=",
        "-_8=",
        "AA==\n",
        " AA==",
        "AA ==",
        "AAAA====",
        "A===",
        "é===",
      ],
    },
    u64: {
      good: [
        { bytes: "0000000000000000", value: 0 },
        { bytes: "0000000100000000", value: 4_294_967_296 },
        { bytes: "001fffffffffffff", value: Number.MAX_SAFE_INTEGER },
      ],
      bad: ["0020000000000000", "8000000000000000", "ffffffffffffffff", "00000000000000", ""],
    },
    decimal: {
      good: ["0", "9", "10", "9007199254740991"],
      bad: ["", "00", "01", "-1", "+1", "1.0", "1e3", " 1", "9007199254740992", "0x1", "99999999999999999999"],
    },
  };
}

/** Group order L, little-endian. */
const ORDER = hexToBytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");

/** s + L: the same scalar, spelled in a way that must be refused. */
function addOrder(signature: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(signature);
  let carry = 0;
  for (let index = 0; index < 32; index++) {
    const sum = (copy[32 + index] ?? 0) + (ORDER[index] ?? 0) + carry;
    copy[32 + index] = sum & 0xff;
    carry = sum >> 8;
  }
  return copy;
}

function withBit(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

const SMALL_ORDER: readonly string[] = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000080",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
];

const NOT_CANONICAL: readonly string[] = [
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
];

export function ed25519Vectors(): Json {
  const signer = createSigner(fill(0x01));
  const message = asciiToBytes("event anchoring");
  const signature = signer.sign(message);
  const key = signer.publicKey;
  const entry = (name: string, publicKey: Uint8Array, over: Uint8Array, made: Uint8Array): Json => ({
    name,
    public_key: bytesToHex(publicKey),
    message: bytesToHex(over),
    signature: bytesToHex(made),
  });
  const forged = (r: string): Uint8Array => Uint8Array.from([...hexToBytes(r), ...signature.subarray(32)]);
  const zeroS = (r: string): Uint8Array => Uint8Array.from([...hexToBytes(r), ...fill(0)]);
  const none = new Uint8Array(0);
  return {
    about: "The Ed25519 rule: canonical A and R, neither of small order, S < L, no cofactor.",
    good: [
      entry("ordinary", key, message, signature),
      entry("empty message", key, none, signer.sign(none)),
      entry("1,000 bytes", key, fill(7, 1000), signer.sign(fill(7, 1000))),
    ],
    bad: [
      entry("another message", key, asciiToBytes("event anchorinG"), signature),
      entry("another key", stranger.publicKey, message, signature),
      entry("bit 0 of R", key, message, withBit(signature, 0)),
      entry("sign of R", key, message, withBit(signature, 255)),
      entry("bit 0 of S", key, message, withBit(signature, 256)),
      entry("top bit of S", key, message, withBit(signature, 511)),
      entry("sign of A", withBit(key, 255), message, signature),
      entry("S + L", key, message, addOrder(signature)),
      entry("63 bytes", key, message, signature.slice(0, 63)),
      entry("65 bytes", key, message, Uint8Array.from([...signature, 0])),
      entry("no signature", key, message, none),
      entry("64 zero bytes", key, message, fill(0, 64)),
      entry("key of 31 bytes", key.slice(0, 31), message, signature),
      entry("key of 33 bytes", Uint8Array.from([...key, 0]), message, signature),
      entry("no key", none, message, signature),
      ...SMALL_ORDER.map((point) => entry(`small-order A ${point}`, hexToBytes(point), message, zeroS(point))),
      ...SMALL_ORDER.map((point) => entry(`small-order R ${point}`, key, message, forged(point))),
      ...NOT_CANONICAL.map((point) => entry(`A not canonical ${point}`, hexToBytes(point), message, signature)),
      ...NOT_CANONICAL.map((point) => entry(`R not canonical ${point}`, key, message, forged(point))),
    ],
  };
}

const SIZE = 6;
const text = formatCheckpoint({
  origin: checkpointOrigin(clusterName, nodeA.originFingerprint),
  treeSize: SIZE,
  rootHash: leafTree.rootAt(SIZE),
});

/** The end-to-end example: log key seed 32 x 01, cosigner seed 32 x 02, the eight-leaf tree of RFC 6962 tests. */
function exampleNote(): Json {
  const root = hexToBytes("5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
  const origin = "anchor.example/cluster";
  const example = formatCheckpoint({ origin, treeSize: 8, rootHash: root });
  const log = createSigner(fill(0x01));
  const node = createSigner(fill(0x02));
  const timeS = 1_679_315_147;
  const name = "anchor.example/node-a";
  const signature = node.sign(cosignatureMessage(timeS, example));
  const lines = [
    noteSignatureLine({ name: origin, publicKey: log.publicKey, signature: log.sign(noteMessage(example)) }, sha256),
    cosignatureLine({ name, publicKey: node.publicKey, timeS, signature }, sha256),
  ];
  const keys = [
    makeVkey(origin, VKEY_TYPE.ed25519, log.publicKey, sha256),
    makeVkey(name, VKEY_TYPE.cosignature, node.publicKey, sha256),
  ];
  return { name: "end to end", note: formatNote(example, lines), vkeys: keys.map(formatVkey) };
}

export function noteVectors(): Json {
  const line = formatSignatureLine(logLine(nodeA, text));
  const good = `${text}\n${line}`;
  const vkey = formatVkey(originEntry(nodeA).logVkey);
  const [name = "", keyId = "", ...rest] = vkey.split("+");
  const base64 = rest.join("+");
  return {
    about: "Signed notes and vkeys. `error` is the code of the refusal; good notes verify under all `vkeys`.",
    good: [
      exampleNote(),
      { name: "checkpoint with a log line", note: good, vkeys: [vkey] },
      {
        name: "text with an empty line, line of an unknown key",
        note: formatNote("first\n\nthird\n", [
          { name: "näme.example/x", keyId: 0xffffffff, signature: Uint8Array.of(1) },
        ]),
        vkeys: [],
      },
    ],
    bad: [
      { name: "empty", error: "note_unsigned", note: "" },
      { name: "text alone", error: "note_unsigned", note: text },
      { name: "text and an empty line", error: "note_unsigned", note: `${text}\n` },
      { name: "no final newline", error: "note_unsigned", note: good.slice(0, -1) },
      { name: "no empty line", error: "note_unsigned", note: `${text}${line}` },
      { name: "empty line at the end", error: "note_unsigned", note: `${good}\n` },
      { name: "carriage return", error: "note_text_invalid", note: good.replace("\n", "\r\n") },
      { name: "tab", error: "note_text_invalid", note: `a\tb\n\n${line}` },
      { name: "zero byte", error: "note_text_invalid", note: `a\u0000\n\n${line}` },
      { name: "hyphen for the dash", error: "signature_line_invalid", note: `${text}\n${line.replace("\u2014", "-")}` },
      { name: "two spaces", error: "signature_line_invalid", note: `${text}\n${line.replace("\u2014 ", "\u2014  ")}` },
      { name: "no name", error: "signature_line_invalid", note: `${text}\n\u2014  AAAAAAA=\n` },
      { name: "plus in the name", error: "signature_line_invalid", note: `${text}\n\u2014 a+b AAAAAAA=\n` },
      {
        name: "no-break space in the name",
        error: "signature_line_invalid",
        note: `${text}\n\u2014 a\u00a0b AAAAAAA=\n`,
      },
      { name: "trailing space", error: "signature_line_invalid", note: `${text}\n\u2014 a AAAAAAA= \n` },
      { name: "key id alone", error: "signature_line_invalid", note: `${text}\n\u2014 a AAAAAA==\n` },
      { name: "base64 without padding", error: "signature_line_invalid", note: `${text}\n\u2014 a AAAAAAA\n` },
      { name: "base64 with loose bits", error: "signature_line_invalid", note: `${text}\n\u2014 a AAAAAAB=\n` },
      { name: "a line that is none", error: "signature_line_invalid", note: `${good}x\n` },
      { name: "65 lines", error: "signatures_too_many", note: `${text}\n${"\u2014 a AAAAAAA=\n".repeat(65)}` },
    ],
    vkey: {
      good: [
        vkey,
        formatVkey(nodeEntry(nodeA).cosignerVkey),
        formatVkey(version1.rootKeys.keys[0] ?? nodeEntry(nodeA).cosignerVkey),
      ],
      bad: [
        { error: "vkey_invalid", vkey: "" },
        { error: "vkey_invalid", vkey: `${name}+${base64}` },
        { error: "vkey_invalid", vkey: `+${keyId}+${base64}` },
        { error: "vkey_invalid", vkey: `a b+${keyId}+${base64}` },
        { error: "vkey_invalid", vkey: `${name}+${keyId.toUpperCase()}A+${base64}` },
        { error: "vkey_invalid", vkey: `${name}+${keyId}+${base64.slice(0, -1)}` },
        { error: "vkey_invalid", vkey: `${name}+${keyId}+${bytesToBase64(fill(1, 32))}` },
        { error: "vkey_invalid", vkey: `${name}+${keyId}+${bytesToBase64(fill(1, 34))}` },
        { error: "vkey_type_unknown", vkey: `${name}+${keyId}+${bytesToBase64(fill(2, 33))}` },
        { error: "vkey_type_unknown", vkey: `${name}+${keyId}+${bytesToBase64(fill(6, 33))}` },
        { error: "vkey_id_mismatch", vkey: `${name}x+${keyId}+${base64}` },
        { error: "vkey_id_mismatch", vkey: `${name}+00000000+${base64}` },
        { error: "vkey_id_mismatch", vkey: `${name}+${keyId}+${bytesToBase64(fill(4, 33))}` },
      ],
    },
  };
}

export function checkpointVectors(): Json {
  const [origin = "", size = "", root = ""] = text.split("\n");
  const refuse = (name: string, bad: string, error = "checkpoint_malformed"): Json => ({ name, error, text: bad });
  return {
    about: "Checkpoint texts and the names in them.",
    good: [
      { text, origin, tree_size: SIZE, root_hash: bytesToHex(leafTree.rootAt(SIZE)) },
      { text: `${origin}\n0\n${root}\n`, origin, tree_size: 0, root_hash: bytesToHex(leafTree.rootAt(SIZE)) },
    ],
    bad: [
      refuse("empty", ""),
      refuse("no final newline", text.slice(0, -1)),
      refuse("no origin", `\n${size}\n${root}\n`),
      refuse("no root", `${origin}\n${size}\n`),
      refuse("leading zero", `${origin}\n0${size}\n${root}\n`),
      refuse("plus", `${origin}\n+${size}\n${root}\n`),
      refuse("negative", `${origin}\n-1\n${root}\n`),
      refuse("hex size", `${origin}\n0x6\n${root}\n`),
      refuse("size above 2^53 - 1", `${origin}\n9007199254740992\n${root}\n`),
      refuse("root of 31 bytes", `${origin}\n${size}\n${bytesToBase64(fill(1, 31))}\n`),
      refuse("root in hex", `${origin}\n${size}\n${bytesToHex(fill(1))}\n`),
      refuse("root without padding", `${origin}\n${size}\n${root.slice(0, -1)}\n`),
      refuse("extension line", `${text}more\n`, "checkpoint_extended"),
      refuse("empty extension line", `${text}\n`, "checkpoint_extended"),
    ],
    cluster_names: {
      good: ["a", "anchor.example/demo", "0-9.x/_a/b.c", "a".repeat(128)],
      bad: ["", "/", "a/", "/a", "a//b", "A", "a_b", "a b", "a+b", "ä", "a\n", "a".repeat(129)],
    },
    node_ids: {
      good: ["a", "node-1", "z".repeat(32)],
      bad: ["", "1", "-a", "A", "a_b", "a.b", "a/b", "a ", "z".repeat(33)],
    },
  };
}

/** Lines on the checkpoint against policies of version 1 and 2. */
export function cosignatureVectors(): Json {
  const [a, b, c, d] = [
    cosign(nodeA, text, 1_770_000_003),
    cosign(nodeB, text, 1_770_000_001),
    cosign(nodeC, text),
    cosign(nodeD, text),
  ];
  const moved = (line: SignatureLine, offset: number): SignatureLine => {
    const signature = Uint8Array.from(line.signature);
    signature[offset] = (signature[offset] ?? 0) ^ 1;
    return { ...line, signature };
  };
  const renamed = { ...a, name: "anchor.example/demo/node/z" };
  const asLog = logLine(nodeA, text);
  const short = { ...a, signature: a.signature.slice(0, 71) };
  const otherText = cosign(nodeA, text.replace(`\n${SIZE}\n`, `\n${SIZE + 1}\n`));
  const entry = (
    name: string,
    lines: readonly SignatureLine[],
    refusal: string | null,
    timeS: number | null,
  ): Json => ({
    name,
    note: formatNote(text, lines),
    refusal,
    satisfied: timeS !== null,
    certified_at_s: timeS,
  });
  const policy = (root: typeof version1): string => formatPolicy(tlogPolicyOf(root));
  return {
    about: "Cosigned checkpoints under the policy (2 of a, b, c). certified_at_s is the 2nd smallest time.",
    policy: policy(version1),
    message: {
      time_s: 1_770_000_003,
      checkpoint: text,
      bytes: bytesToHex(cosignatureMessage(1_770_000_003, text)),
    },
    good: [
      entry("a and b", [a, b], null, 1_770_000_003),
      entry("all three", [asLog, a, b, c], null, 1_770_000_001),
      entry("two and a stranger", [d, b, c], null, 1_770_000_001),
      entry("an unknown name repeated", [renamed, renamed, b, c], null, 1_770_000_001),
    ],
    bad: [
      entry("a alone", [a], null, null),
      entry("only the log line", [asLog], null, null),
      entry("a and a stranger", [a, d], null, null),
      entry("a and a renamed", [a, renamed], null, null),
      entry("a twice", [a, a], "signature_repeated", null),
      entry("a, b and a again", [a, b, cosign(nodeA, text, 1)], "signature_repeated", null),
      entry("time changed", [moved(a, 7), b, c], "signature_invalid", null),
      entry("signature changed", [moved(a, 8), b, c], "signature_invalid", null),
      entry("signature cut", [short, b, c], "signature_invalid", null),
      entry(
        "time above 2^53 - 1",
        [moved({ ...a, signature: Uint8Array.from([255, ...a.signature.slice(1)]) }, 7), b, c],
        "signature_invalid",
        null,
      ),
      entry("of another checkpoint", [otherText, b, c], "signature_invalid", null),
    ],
    policies: policyVectors(policy(version1), policy(version2)),
  };
}

function policyVectors(first: string, second: string): Json {
  const witness = `witness  a\t${formatVkey(nodeEntry(nodeA).cosignerVkey)} https://a.example/`;
  const commented = `# ours\n\n${witness}\ngroup all-of any a\nquorum all-of`;
  return { good: [first, second, "quorum none\n", commented], bad: badPolicies(first) };
}

function badPolicies(good: string): Json {
  const lines = good.split("\n");
  const [log = "", , , witness = ""] = lines;
  const edit = (from: string | RegExp, to: string): string => good.replace(from, to);
  const refuse = (name: string, error: string, policy: string): Json => ({ name, error, policy });
  return [
    refuse("empty", "policy_malformed", ""),
    refuse("no quorum", "policy_malformed", edit("quorum nodes\n", "")),
    refuse("two quorums", "policy_malformed", `${good}quorum none\n`),
    refuse("unknown statement", "policy_malformed", `${good}allow all\n`),
    refuse("comment behind a statement", "policy_malformed", edit("quorum nodes", "quorum nodes # ours")),
    refuse("log with a cosigner key", "policy_malformed", edit(log, `log ${witness.split(" ")[2] ?? ""}`)),
    refuse("witness with a log key", "policy_malformed", edit(witness, `witness a ${log.split(" ")[1] ?? ""}`)),
    refuse("broken key", "policy_malformed", edit("+A", "+B")),
    refuse("forward reference", "policy_name_unknown", `group first any nodes\n${good}`),
    refuse("unknown member", "policy_name_unknown", edit("a b c", "a b d")),
    refuse("unknown quorum", "policy_name_unknown", edit("quorum nodes", "quorum everybody")),
    refuse("member twice", "policy_name_reused", edit("a b c", "a b b")),
    refuse("member of two groups", "policy_name_reused", edit("quorum", "group more any a\nquorum")),
    refuse("name twice", "policy_name_reused", edit("group nodes", "group a")),
    refuse("the name none", "policy_name_reused", edit("group nodes", "group none")),
    refuse("key twice", "policy_key_reused", edit("group", `${witness.replace("witness a", "witness z")}\ngroup`)),
    refuse("threshold 0", "policy_threshold_invalid", edit("nodes 2", "nodes 0")),
    refuse("threshold 4 of 3", "policy_threshold_invalid", edit("nodes 2", "nodes 4")),
    refuse("threshold 02", "policy_threshold_invalid", edit("nodes 2", "nodes 02")),
    refuse("threshold in words", "policy_threshold_invalid", edit("nodes 2", "nodes most")),
  ];
}
