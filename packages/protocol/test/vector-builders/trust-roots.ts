/** Trust-root documents and chains. */
import { VKEY_TYPE, bytesToHex, formatTrustRootText, formatVkey, makeVkey, rootThk } from "@event-anchoring/protocol";
import type { TrustRoot, TrustRootOperator, TrustRootWitness, Vkey } from "@event-anchoring/protocol";
import {
  document1,
  document2,
  document3,
  fill,
  nodeA,
  nodeB,
  nodeC,
  nodeD,
  nodeEntry,
  operatorEntry,
  originEntry,
  pinnedRootThk,
  rootVkeys,
  sha256,
  signedDocument,
  signedText,
  stranger,
  successor,
  version1,
  version2,
  witnessEntry,
} from "./fixtures.ts";
import { trustRootPolicies } from "./trust-root-policies.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";

const text1 = formatTrustRootText(version1);

function changed(changes: Partial<TrustRoot>): string {
  return formatTrustRootText({ ...version1, ...changes });
}

/** Swaps two lines of the text. */
function swapped(first: number, second: number): string {
  const lines = text1.split("\n");
  const moved = lines[first] ?? "";
  lines[first] = lines[second] ?? "";
  lines[second] = moved;
  return lines.join("\n");
}

function malformedTexts(): [string, string, string][] {
  const [keyOne] = version1.rootKeys.keys;
  if (keyOne === undefined) throw new TypeError("version 1 has root keys");
  const edit = (from: string, to: string): string => text1.replace(from, to);
  return [
    ["empty", "malformed", ""],
    ["no final newline", "malformed", text1.slice(0, -1)],
    ["another format version", "malformed", edit("v4.2", "v4.3")],
    ["line missing", "malformed", text1.replace(/validity .*\n/, "")],
    ["line added", "malformed", `${text1}more\n`],
    ["unknown status", "malformed", edit(" active ", " asleep ")],
    ["upper-case status", "malformed", edit(" active ", " Active ")],
    ["short fingerprint", "malformed", edit("cluster anchor.example/demo c1", "cluster anchor.example/demo ")],
    ["leading zero", "malformed", edit("version 1", "version 01")],
    ["vkey with another key id", "malformed", edit(formatVkey(keyOne).slice(0, -45), `${keyOne.name}+00000000`)],
    ["no root key", "malformed", text1.replace(/root 2 .*\n/, "root 2\n")],
    ["33 root keys", "too_large", text1.replace(/root 2 .*\n/, `root 2${" x".repeat(33)}\n`)],
    ["upper-case hex", "not_canonical", edit("c1c1", "C1c1")],
    ["two spaces", "malformed", edit("version 1 ", "version 1  ")],
    ["trailing space", "malformed", edit("quorum 2", "quorum 2 ")],
    ["origins out of order", "not_canonical", swapped(6, 7)],
    ["nodes out of order", "not_canonical", swapped(9, 10)],
  ];
}

function illegalTexts(): [string, string, string][] {
  const [a, b, c] = version1.nodes;
  const [keyOne, keyTwo] = version1.rootKeys.keys;
  if (a === undefined || b === undefined || c === undefined || keyOne === undefined || keyTwo === undefined) {
    throw new TypeError("version 1 has three nodes");
  }
  const misnamed = { ...a, cosignerVkey: b.cosignerVkey };
  const asLog = { ...a, cosignerVkey: originEntry(nodeA).logVkey };
  const renamed = { ...a, nodeId: "nodes" };
  const sameAuth = { ...b, authPublicKey: a.authPublicKey };
  const authIsCosigner = { ...a, authPublicKey: a.cosignerVkey.publicKey };
  const edit = (from: string, to: string): string => text1.replace(from, to);
  return [
    [
      "cluster name with a capital",
      "name_invalid",
      text1.replaceAll("anchor.example", "Anchor.example").replace(/Anchor(?!.example\/demo c1)/g, "anchor"),
    ],
    ["node called nodes", "name_invalid", changed({ nodes: [renamed, b, c] })],
    ["cosigner key of another node", "key_misnamed", changed({ nodes: [misnamed, b, c] })],
    ["log key as cosigner key", "key_misnamed", changed({ nodes: [asLog, b, c] })],
    ["cosigner key as root key", "key_misnamed", changed({ rootKeys: { threshold: 1, keys: [a.cosignerVkey] } })],
    ["version 0", "version_invalid", edit("version 1", "version 0")],
    ["version above u32", "version_invalid", edit("version 1", "version 4294967296")],
    ["version 1 with a predecessor", "previous_invalid", changed({ previous: fill(1) })],
    ["version 2 without one", "previous_invalid", changed({ version: 2 })],
    ["expires when issued", "validity_invalid", changed({ expiresS: version1.issuedS })],
    ["threshold 0", "root_threshold_invalid", changed({ rootKeys: { threshold: 0, keys: rootVkeys(["1"]) } })],
    ["threshold 2 of 1", "root_threshold_invalid", changed({ rootKeys: { threshold: 2, keys: rootVkeys(["1"]) } })],
    ["quorum 1 of 3", "quorum_unsafe", changed({ quorum: 1 })],
    ["quorum 4 of 3", "quorum_unsafe", changed({ quorum: 4 })],
    ["quorum 2 of 4", "quorum_unsafe", changed({ nodes: [a, b, c, nodeEntry(nodeD)] })],
    [
      "quorum 2 with one active node",
      "quorum_unsafe",
      changed({ nodes: [a, { ...b, status: "learner" }, { ...c, status: "retired" }] }),
    ],
    ["CA twice", "item_repeated", changed({ ca: [fill(1), fill(1)] })],
    ["origin twice", "item_repeated", changed({ origins: [...version1.origins, originEntry(nodeA, "closed")] })],
    ["node twice", "item_repeated", changed({ nodes: [a, b, c, { ...c, status: "retired" }] })],
    [
      "two nodes, one origin",
      "item_repeated",
      changed({ nodes: [a, { ...b, originFingerprint: a.originFingerprint }, c] }),
    ],
    ["node without an origin line", "origin_unlisted", changed({ origins: version1.origins.slice(1) })],
    ["one auth key for two nodes", "key_reused", changed({ nodes: [a, sameAuth, c] })],
    ["auth key = cosigner key", "key_reused", changed({ nodes: [authIsCosigner, b, c] })],
    ["root key twice", "key_reused", changed({ rootKeys: { threshold: 2, keys: [keyOne, keyOne] } })],
    [
      "origin of another cosigner key",
      "origin_fingerprint_wrong",
      changed({
        nodes: [{ ...a, originFingerprint: b.originFingerprint }, { ...b, originFingerprint: a.originFingerprint }, c],
      }),
    ],
    ["cluster id of another cluster", "origin_fingerprint_wrong", changed({ clusterId: fill(0xc2) })],
  ];
}

const alice = operatorEntry("alice", 0x41);
const bob = operatorEntry("bob", 0x42);
const north = witnessEntry("north", 0x51);
const south = witnessEntry("south", 0x52, "https://198.51.100.7:8443");
const west = witnessEntry("west", 0x53, "http://[::1]:9/a/b%20c");
const WATCHED = { operators: [alice, bob], witnesses: [north, south, west], witnessQuorum: 2 };
const watched = formatTrustRootText({ ...version1, ...WATCHED });

function watchedWith(changes: Partial<TrustRoot>): string {
  return changed({ ...WATCHED, ...changes });
}

/** One operator alone, some of it other than it should be. */
function withOperator(changes: Partial<TrustRootOperator>): string {
  return watchedWith({ operators: [{ ...alice, ...changes }] });
}

/** The public key of another, under the name of the witness's own. */
function ownedBy({ vkey }: TrustRootWitness, { publicKey }: Vkey): Vkey {
  return makeVkey(vkey.name, VKEY_TYPE.cosignature, publicKey, sha256);
}

/** One witness alone, likewise. */
function withWitness(changes: Partial<TrustRootWitness>): string {
  return watchedWith({ witnesses: [{ ...north, ...changes }], witnessQuorum: 1 });
}

function goodUrls(): string[] {
  return [
    "https://witness.example",
    "https://witness.example/",
    "https://a.b-c.example:65535/~x/!$&'()*+,;=:@-._",
    "http://localhost:8080/w",
    "http://127.0.0.1",
    "https://[2001:db8::1]:443",
    `https://w.example/${"x".repeat(238)}`,
  ];
}

function badUrls(): string[] {
  return [
    "http://witness.example",
    "http://localhost.example",
    "http://127.0.0.2",
    "https://",
    "https:///w",
    "HTTPS://witness.example",
    "https://Witness.example",
    "https://witness_1.example",
    "https://-witness.example",
    "https://witness..example",
    "https://witness.example.",
    `https://${"x".repeat(64)}.example`,
    "https://user@witness.example",
    "https://witness.example:",
    "https://witness.example:0",
    "https://witness.example:0443",
    "https://witness.example:65536",
    "https://witness.example?x",
    "https://witness.example/w?x",
    "https://witness.example/w#x",
    "https://witness.example\\w",
    "https://witness.example/\u00fc",
    "https://w\u00fctness.example",
    "https://[2001:db8::1",
    "https://[]",
    "https://[::1]w",
    "ftp://witness.example",
    "witness.example",
    `https://w.example/${"x".repeat(239)}`,
  ];
}

/** Texts whose lines of operators and witnesses cannot be read. */
function misplacedWatchers(): [string, string, string][] {
  const edit = (from: string, to: string): string => watched.replace(from, to);
  const lines = (count: number, line: (at: number) => string): string =>
    Array.from({ length: count }, (_, at) => `${line(at)}\n`).join("");
  const operatorLine = `operator alice ${formatVkey(alice.vkey)}\n`;
  return [
    ["operator without a key", "malformed", edit(operatorLine, "operator alice\n")],
    ["operator with two keys", "malformed", edit(operatorLine, operatorLine.replace("\n", " x\n"))],
    [
      "operator after the quorum",
      "malformed",
      edit(operatorLine, "").replace("quorum 2\n", `quorum 2\n${operatorLine}`),
    ],
    ["operator before the nodes", "malformed", edit(operatorLine, "").replace("node a", `${operatorLine}node a`)],
    [
      "witness before the quorum",
      "malformed",
      edit("quorum 2\n", "").replace("witnesses 2\n", "quorum 2\nwitnesses 2\n"),
    ],
    ["witness without a URL", "malformed", edit(` ${north.url}`, "")],
    ["witnesses without a number", "malformed", edit("witnesses 2", "witnesses")],
    ["no number of witnesses", "malformed", edit("witnesses 2\n", "")],
    ["number of witnesses, and none", "malformed", text1.replace("quorum 2\n", "quorum 2\nwitnesses 0\n")],
    ["number of witnesses twice", "malformed", edit("witnesses 2\n", "witnesses 2\nwitnesses 2\n")],
    [
      "65 operators",
      "too_large",
      edit(
        operatorLine,
        lines(64, () => "operator x y"),
      ),
    ],
    [
      "33 witnesses",
      "too_large",
      edit(
        "witnesses 2\n",
        lines(30, () => "witness x y z"),
      ),
    ],
    [
      "operators out of order",
      "not_canonical",
      edit(operatorLine, "").replace("quorum 2\n", `${operatorLine}quorum 2\n`),
    ],
  ];
}

/** Texts whose operators or witnesses break a rule. */
function illegalWatchers(): [string, string, string][] {
  const { publicKey } = alice.vkey;
  const nodeKey = version1.nodes[0]?.cosignerVkey ?? north.vkey;
  const ofOther = makeVkey("other.example/operator/alice", VKEY_TYPE.ed25519, publicKey, sha256);
  const asCosigner = makeVkey(alice.vkey.name, VKEY_TYPE.cosignature, publicKey, sha256);
  const asPlain = makeVkey(north.vkey.name, VKEY_TYPE.ed25519, north.vkey.publicKey, sha256);
  const named = (name: string): Vkey => makeVkey(name, VKEY_TYPE.cosignature, north.vkey.publicKey, sha256);
  const { logVkey } = originEntry(nodeA);
  return [
    ["operator with a capital", "name_invalid", withOperator({ name: "Alice" })],
    ["operator of 33 letters", "name_invalid", withOperator({ name: "a".repeat(33) })],
    ["operator that begins with a digit", "name_invalid", withOperator({ name: "1alice" })],
    ["witness with a dot", "name_invalid", withWitness({ name: "north.example" })],
    ["key of another operator", "key_misnamed", withOperator({ vkey: bob.vkey })],
    ["operator of another cluster", "key_misnamed", withOperator({ vkey: ofOther })],
    ["operator with a cosigner key", "key_misnamed", withOperator({ vkey: asCosigner })],
    ["witness with a plain key", "key_misnamed", withWitness({ vkey: asPlain })],
    ["witness under the name of a node's key", "key_misnamed", withWitness({ vkey: named(nodeKey.name) })],
    ["witness under the name of a log's key", "key_misnamed", withWitness({ vkey: named(logVkey.name) })],
    ...badUrls().map((url): [string, string, string] => [
      `witness at ${url}`,
      "witness_url_invalid",
      withWitness({ url }),
    ]),
    ["1 of 2 witnesses", "witnesses_unsafe", watchedWith({ witnesses: [north, south], witnessQuorum: 1 })],
    ["1 of 3 witnesses", "witnesses_unsafe", watchedWith({ witnessQuorum: 1 })],
    ["0 of 1 witnesses", "witnesses_unsafe", watchedWith({ witnesses: [north], witnessQuorum: 0 })],
    ["4 of 3 witnesses", "witnesses_unsafe", watchedWith({ witnessQuorum: 4 })],
    ["operator twice", "item_repeated", watchedWith({ operators: [alice, alice] })],
    ["witness twice", "item_repeated", watchedWith({ witnesses: [north, north, south] })],
    [
      "two witnesses, one name of their keys",
      "item_repeated",
      watchedWith({ witnesses: [north, { ...south, vkey: ownedBy(north, south.vkey) }, west] }),
    ],
    [
      "operator's key = witness's key",
      "key_reused",
      watchedWith({ witnesses: [witnessEntry("north", 0x41), south, west] }),
    ],
    ["operator's key = auth key", "key_reused", watchedWith({ operators: [operatorEntry("alice", 0x21)] })],
    ["operator's key = root key", "key_reused", watchedWith({ operators: [operatorEntry("alice", 0x31)] })],
    ["two operators, one key", "key_reused", watchedWith({ operators: [alice, operatorEntry("bob", 0x41)] })],
    ["two witnesses, one key", "key_reused", watchedWith({ witnesses: [north, witnessEntry("south", 0x51), west] })],
    ["cosigner as witness", "key_reused", withWitness({ vkey: ownedBy(north, nodeKey) })],
  ];
}

interface Chain {
  readonly name: string;
  readonly documents: readonly string[];
  readonly pin?: Uint8Array;
  readonly error?: string;
}

/** A document after version 1 that both sets of root keys have signed. */
function after1(changes: Partial<TrustRoot>): string {
  return signedDocument(successor(version1, changes), ["1", "2"]);
}

/** Documents that follow version 1 and must not. */
function refuse(name: string, error: string, ...next: string[]): Chain {
  return { name, error, documents: [document1, ...next] };
}

function badStarts(): Chain[] {
  const signed = (...labels: string[]): string[] => [signedDocument(version1, labels)];
  return [
    { name: "no document", error: "chain_empty", documents: [] },
    { name: "another pin", error: "pin_mismatch", documents: [document1], pin: fill(1) },
    { name: "pinned version 1, first version 2", error: "pin_mismatch", documents: [document2] },
    { name: "version 1 signed by one", error: "root_quorum_missing", documents: signed("1") },
    { name: "version 1 signed by a key it does not list", error: "root_quorum_missing", documents: signed("1", "4") },
    { name: "version 1 signed twice by one", error: "signature_repeated", documents: signed("1", "1") },
  ];
}

/** Well signed, but not a legal successor. */
function badSuccessors(): Chain[] {
  const { origins, nodes } = version2;
  const [a, b, c] = [originEntry(nodeA), originEntry(nodeB), originEntry(nodeC)];
  const closed = successor(version1, { origins: [originEntry(nodeA, "closed"), b, c] });
  const reopened = successor(closed, { origins: [a, b, c] });
  const revived = successor(version2, { nodes: [...version1.nodes, nodeEntry(nodeD)], quorum: 3 });
  const raised = successor(version1, { epoch: 1 });
  const lowered = successor(raised, { epoch: 0 });
  const logKey = originEntry({ ...nodeA, log: nodeD.log }).logVkey;
  const foreign = nodeEntry({ ...nodeD, cosigner: nodeD.auth, auth: stranger });
  const rekeyedC = nodeEntry({ ...nodeC, auth: stranger }, "retired");
  const takesOver = nodeEntry({ ...nodeD, auth: nodeC.auth });
  const both = (root: TrustRoot): string => signedDocument(root, ["1", "2"]);
  const rekeyed = (node: TrustRoot["nodes"][number]): TrustRoot["nodes"][number] =>
    node.nodeId === "c" ? rekeyedC : node;
  const formerA = nodeEntry(nodeA).cosignerVkey;
  const newCosigner = { ...nodeEntry(nodeA), cosignerVkey: nodeEntry({ ...nodeA, cosigner: stranger }).cosignerVkey };
  const rekeyedA = successor(version1, { nodes: [newCosigner, ...version1.nodes.slice(1)] });
  return [
    refuse("version 1 again", "version_gap", document1),
    refuse("version 2 left out", "version_gap", document3),
    refuse("another predecessor", "previous_mismatch", after1({ previous: fill(9) })),
    refuse("cluster id changed", "cluster_changed", after1({ clusterId: fill(0xc2) })),
    refuse("epoch goes back", "epoch_decreased", both(raised), both(lowered)),
    refuse("origin removed", "origin_removed", after1({ origins: [a, b], nodes: version1.nodes.slice(0, 2) })),
    refuse("origin reopened", "origin_status_reversed", both(closed), both(reopened)),
    refuse("log key changed", "log_key_changed", after1({ origins: [{ ...a, logVkey: logKey }, b, c] })),
    refuse(
      "origin first listed as closed",
      "origin_not_active_first",
      after1({ origins: [a, b, c, originEntry(nodeD, "closed")] }),
    ),
    refuse("node removed", "node_removed", after1({ nodes: version1.nodes.slice(0, 2) })),
    refuse("node revived", "node_status_reversed", document2, both(revived)),
    refuse(
      "new origin of another cosigner key",
      "origin_fingerprint_wrong",
      after1({ origins, nodes: [...nodes.slice(0, 3), foreign] }),
    ),
    refuse(
      "auth key of c given to an operator",
      "key_reused",
      document2,
      both(successor(version2, { nodes: version2.nodes.map(rekeyed), operators: [operatorEntry("alice", 0x23)] })),
    ),
    refuse(
      "operator's key given to another",
      "key_reused",
      after1({ operators: [alice] }),
      both(successor(successor(version1, { operators: [alice] }), { operators: [operatorEntry("bob", 0x41)] })),
    ),
    refuse(
      "cosigner of a node before as a witness of its name",
      "key_misnamed",
      both(rekeyedA),
      both(successor(rekeyedA, { witnesses: [{ ...north, vkey: formerA }], witnessQuorum: 1 })),
    ),
    refuse(
      "cosigner of a node before as a witness",
      "key_reused",
      both(rekeyedA),
      both(successor(rekeyedA, { witnesses: [{ ...north, vkey: ownedBy(north, formerA) }], witnessQuorum: 1 })),
    ),
    refuse(
      "auth key of c given to d",
      "key_reused",
      after1({ origins, nodes: [...nodes.slice(0, 2), rekeyedC, takesOver] }),
    ),
  ];
}

/** Legal successors that are not signed as they must be. */
function badSignatures(): Chain[] {
  const text2 = formatTrustRootText(version2);
  const rotated = successor(version1, { rootKeys: { threshold: 2, keys: rootVkeys(["3", "4"]) } });
  const lastLine = document2.split("\n").at(-2) ?? "";
  const edited = document2.replace("validity 1767312000", "validity 1767312001");
  return [
    refuse("signed by one key", "root_quorum_missing", signedDocument(version2, ["2"])),
    refuse("signed by an unlisted key", "root_quorum_missing", signedText(text2, ["4", "1"])),
    refuse("signed by new keys only", "root_quorum_missing", signedDocument(rotated, ["3", "4"])),
    refuse("signed by old keys only", "root_quorum_missing", signedDocument(rotated, ["1", "2"])),
    refuse("one line twice", "signature_repeated", `${document2}${lastLine}\n`),
    refuse("text changed after signing", "signature_invalid", edited),
    refuse("unsigned", "malformed", `${text2}\n`),
  ];
}

/** After version 1: with operators and witnesses, with other keys of both, without any. */
function watchedVersions(): string[] {
  const second = successor(version1, WATCHED);
  const third = successor(second, {
    operators: [operatorEntry("alice", 0x43), bob],
    witnesses: [witnessEntry("north", 0x54), south],
  });
  const fourth = successor(third, { operators: [], witnesses: [], witnessQuorum: 0 });
  return [second, third, fourth].map((root) => signedDocument(root, ["1", "2"]));
}

export function trustRootVectors(): Json {
  const chain = ({ name, documents, pin, error }: Chain): Json => ({
    name,
    pinned_root_thk: bytesToHex(pin ?? pinnedRootThk),
    documents,
    ...(error === undefined ? {} : { error }),
  });
  return {
    about:
      "Trust-root texts, and chains of signed documents from a pinned RootTHK. `error` is the code of the refusal. " +
      "policies: `certified` and `witnessed` are the tlog-policies of `text`; null: it lists no witness.",
    good: [
      text1,
      formatTrustRootText(version2),
      watched,
      withOperator({}),
      ...goodUrls().map((url) => withWitness({ url })),
    ].map((text) => ({ text, root_thk: bytesToHex(rootThk(text, sha256)) })),
    bad: [...malformedTexts(), ...illegalTexts(), ...misplacedWatchers(), ...illegalWatchers()].map(
      ([name, error, text]) => ({
        name,
        error,
        text,
      }),
    ),
    policies: trustRootPolicies(),
    chains: {
      good: [
        { name: "version 1 alone", documents: [document1] },
        { name: "three versions", documents: [document1, document2, document3] },
        {
          name: "operators and witnesses come, change and go",
          documents: [document1, ...watchedVersions()],
        },
        {
          name: "pinned at version 2",
          documents: [document2, document3],
          pin: rootThk(formatTrustRootText(version2), sha256),
        },
      ].map(chain),
      bad: [...badStarts(), ...badSuccessors(), ...badSignatures()].map(chain),
    },
  };
}
