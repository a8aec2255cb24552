import { describe, expect, test } from "@jest/globals";
import {
  POLICY_FORMATS,
  bytesToHex,
  formatTrustRootText,
  formatVkey,
  parsePolicy,
  parseSignedTrustRoot,
  renderPolicy,
  satisfiesPolicy,
  tlogPolicyOf,
  witnessedPolicyOf,
} from "@event-anchoring/protocol";
import type { SignedTrustRoot, TrustRoot } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { codeOf, loadVectors } from "./vectors.ts";

const { sha256 } = nodeCrypto;
const { trust_roots: documents } = loadVectors("receipt.json") as { readonly trust_roots: readonly string[] };

function version(number: number): SignedTrustRoot {
  return parseSignedTrustRoot(documents[number - 1] ?? "", sha256);
}

/** Version 1 with other node ids. What is rendered has been verified before, so no signature is looked at. */
function called(...ids: readonly string[]): SignedTrustRoot {
  const signed = version(1);
  const nodes = signed.trustRoot.nodes.map((node, at) => ({ ...node, nodeId: ids[at] ?? node.nodeId }));
  const trustRoot: TrustRoot = { ...signed.trustRoot, nodes };
  return { ...signed, trustRoot, text: formatTrustRootText(trustRoot) };
}

const linesOf = (text: string, word: string): string[] =>
  text.split("\n").filter((line) => line.startsWith(`${word} `));

describe("a policy in the rendering", () => {
  test("tlog is a C2SP tlog-policy with an address on every witness line", () => {
    const text = renderPolicy(version(1), "tlog");
    expect(parsePolicy(text, sha256)).toEqual(tlogPolicyOf(version(1).trustRoot));
    expect(linesOf(text, "witness")).toEqual([
      "witness a anchor.example/demo/node/a+026fd460+BNBKsjJ0K7SrOhNovUYV5ObQIkq3GgFrr4UgozLJd4c3 https://a.invalid",
      "witness b anchor.example/demo/node/b+13261e45+BCBAQONkwQ8r7Jwf5QChzUwkfInWUKAe1+gsq6hnh3wh https://b.invalid",
      "witness c anchor.example/demo/node/c+c39bd0c8+BGbNYIuSi4jlDg7+qjP68cQ87+BylLC4fp/gq6ajz3Yz https://c.invalid",
    ]);
    expect(text).toMatch(/\ngroup nodes 2 a b c\nquorum nodes\n$/u);
  });

  test("sigsum has the same keys in hex, each under a comment with its name", () => {
    const { logs, witnesses } = tlogPolicyOf(version(1).trustRoot);
    expect(renderPolicy(version(1), "sigsum").split("\n")).toEqual([
      "# anchor.example/demo, trust root 1",
      `# RootTHK ${bytesToHex(version(1).rootThk)}`,
      ...logs.flatMap(({ name, publicKey }) => [`# ${name}`, `log ${bytesToHex(publicKey)}`]),
      ...witnesses.flatMap(({ name, vkey }) => [`# ${vkey.name}`, `witness ${name} ${bytesToHex(vkey.publicKey)}`]),
      "group nodes 2 a b c",
      "quorum nodes",
      "",
    ]);
  });

  test("sigsum is no C2SP tlog-policy", () => {
    expect(codeOf(() => parsePolicy(renderPolicy(version(1), "sigsum"), sha256))).toBe("policy_malformed");
  });

  test.each(POLICY_FORMATS)("%s lists every log, and of the nodes those that are active", (format) => {
    const text = renderPolicy(version(3), format);
    const { origins, nodes } = version(3).trustRoot;
    const active = nodes.filter(({ status }) => status === "active").map(({ nodeId }) => nodeId);
    expect(active.length).toBeLessThan(nodes.length);
    expect(linesOf(text, "log")).toHaveLength(origins.length);
    expect(linesOf(text, "witness").map((line) => line.split(" ")[1])).toEqual(active);
    expect(linesOf(text, "group")).toEqual([`group nodes ${version(3).trustRoot.quorum} ${active.join(" ")}`]);
  });

  test.each(POLICY_FORMATS)("%s says which trust root it is of, and differs with it", (format) => {
    const [first, second] = [renderPolicy(version(1), format), renderPolicy(version(2), format)];
    expect(first).toContain(`# RootTHK ${bytesToHex(version(1).rootThk)}\n`);
    expect(second).toContain("trust root 2\n");
    expect(second).not.toContain(bytesToHex(version(1).rootThk));
  });

  test.each(POLICY_FORMATS)("%s gives other names to nodes that are called like words of the format", (format) => {
    const text = renderPolicy(called("all", "log", "witness"), format);
    expect(linesOf(text, "witness").map((line) => line.split(" ")[1])).toEqual([
      "node/all",
      "node/log",
      "node/witness",
    ]);
    expect(linesOf(text, "group")).toEqual(["group nodes 2 node/all node/log node/witness"]);
  });
});

describe("a policy of witnessed heads", () => {
  test("asks for the quorum of nodes and for as many witnesses as are needed", () => {
    const { trustRoot } = version(4);
    const policy = witnessedPolicyOf(trustRoot);
    const text = renderPolicy(version(4), "tlog", "witnessed");
    expect(parsePolicy(text, sha256)).toEqual(policy);
    expect(linesOf(text, "group")).toEqual([
      "group nodes 2 a d",
      "group outside 2 witness/north witness/south witness/west",
      "group both 2 nodes outside",
    ]);
    expect(linesOf(text, "quorum")).toEqual(["quorum both"]);
    expect(linesOf(text, "witness").slice(2)).toEqual(
      trustRoot.witnesses.map(({ name, vkey, url }) => `witness witness/${name} ${formatVkey(vkey)} ${url}`),
    );
  });

  test.each<[signed: string, a: boolean, d: boolean, outside: number, isSatisfied: boolean]>([
    ["both groups", true, true, 2, true],
    ["more than is needed", true, true, 3, true],
    ["one witness too few", true, true, 1, false],
    ["one node too few", true, false, 3, false],
    ["nodes alone", true, true, 0, false],
    ["witnesses alone", false, false, 3, false],
  ])("is satisfied by %s: %j, %j, %j of outside: %j", (_, a, d, outside, isSatisfied) => {
    const policy = witnessedPolicyOf(version(4).trustRoot);
    const [keyA, keyD, ...others] = policy.witnesses.map(({ vkey }) => vkey);
    const signers = [...(a ? [keyA] : []), ...(d ? [keyD] : []), ...others.slice(0, outside)];
    const lines = signers.flatMap((vkey) => (vkey === undefined ? [] : [{ vkey, timeS: 1 }]));
    expect(satisfiesPolicy(policy, lines)).toBe(isSatisfied);
  });

  test("is none for a trust root without witnesses", () => {
    expect(() => renderPolicy(version(3), "tlog", "witnessed")).toThrow(RangeError);
  });

  test.each(POLICY_FORMATS)("%s gives other names to nodes that are called like its groups", (format) => {
    const signed = version(4);
    const nodes = signed.trustRoot.nodes.map((node) => (node.nodeId === "a" ? { ...node, nodeId: "outside" } : node));
    const text = renderPolicy({ ...signed, trustRoot: { ...signed.trustRoot, nodes } }, format, "witnessed");
    expect(linesOf(text, "group")[0]).toBe("group nodes 2 node/outside d");
  });
});
