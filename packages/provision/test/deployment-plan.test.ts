import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { API_SETTINGS, CONTROL_PLANE_SETTINGS, readSettings } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { parseSignedTrustRoot } from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import {
  beginCluster,
  createCluster,
  formatNodeCard,
  parseNodeCard,
  planDeployment,
  prepareFirstNode,
  writeDeployment,
} from "../src/index.ts";
import type { DeploymentPlan, DeploymentWish, NodeCard } from "../src/index.ts";

const HOSTS = ["10.77.0.1", "10.77.0.2", "10.77.0.3"];
const NOW_S = Math.floor(Date.now() / 1000);
const IDS = ["n1", "n2", "n3"];

let folder: string;
let trustRoot: TrustRoot;
/** One for each node of the trust root. */
let cards: readonly NodeCard[];
/** Cards of another cluster, whose nodes have the same names. */
let others: readonly NodeCard[];

async function drawCards(name: string): Promise<readonly NodeCard[]> {
  const home = join(folder, name);
  const cluster = await beginCluster(home, name);
  const logSeed = Uint8Array.from(Buffer.from(readFileSync(join(home, "log.seed"), "utf8").trim(), "hex"));
  return Promise.all(
    IDS.map((nodeId) => prepareFirstNode({ identityDir: join(home, nodeId), nodeId, cluster, logSeed })),
  );
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "deployment-plan-"));
  const nodes = IDS.map((nodeId) => ({ nodeId, controlHost: "127.0.0.1", controlPort: 9 }));
  const outDir = join(folder, "cluster");
  const cluster = await createCluster({ clusterName: "plan.test", nodes, quorum: 2, outDir });
  ({ trustRoot } = parseSignedTrustRoot(cluster.trustRootDocument, nodeCrypto.sha256));
  cards = trustRoot.nodes.map(({ nodeId, originFingerprint, cosignerVkey, authPublicKey }) => {
    const { clusterName, clusterId, origins } = trustRoot;
    const [logVkey] = origins.flatMap((origin) =>
      Buffer.from(origin.originFingerprint).equals(originFingerprint) ? [origin.logVkey] : [],
    );
    if (logVkey === undefined) throw new Error("an origin has a key");
    return { clusterName, clusterId, nodeId, originFingerprint, logVkey, cosignerVkey, authPublicKey };
  });
  others = await drawCards("other.test");
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function planOf(wish: Partial<DeploymentWish> = {}): DeploymentPlan {
  const planned = planDeployment({ hosts: HOSTS, cards, trustRoot, nowS: NOW_S, ...wish });
  if (planned.result === "refused") throw new Error(planned.faults.join("\n"));
  return planned.plan;
}

function faultsOf(wish: Partial<DeploymentWish>): readonly string[] {
  const planned = planDeployment({ hosts: HOSTS, cards, trustRoot, nowS: NOW_S, ...wish });
  return planned.result === "refused" ? planned.faults : [];
}

const without = (...ids: readonly string[]): readonly NodeCard[] => cards.filter(({ nodeId }) => !ids.includes(nodeId));

/** The cards, with one of them changed. */
const changed = (id: string, change: (card: NodeCard) => Partial<NodeCard>): readonly NodeCard[] =>
  cards.map((card) => (card.nodeId === id ? { ...card, ...change(card) } : card));

const cardOf = (id: string, from = cards): NodeCard => {
  const card = from.find(({ nodeId }) => nodeId === id);
  if (card === undefined) throw new Error(`there is no card of ${id}`);
  return card;
};

describe("a deployment plan", () => {
  test("is the same from cards, from the trust root and from both", () => {
    const both = planOf();
    expect(both.nodes.map(({ nodeId, address }) => `${nodeId} ${address}`)).toEqual([
      "n1 10.77.0.1",
      "n2 10.77.0.2",
      "n3 10.77.0.3",
    ]);
    expect(planOf({ trustRoot: null })).toEqual(both);
    expect(planOf({ cards: [] })).toEqual(both);
    expect(planOf({ cards: cards.map((card) => parseNodeCard(formatNodeCard(card))) })).toEqual(both);
  });

  test("takes the order of the cards, or each node's name", () => {
    const reversed = planOf({ cards: cards.toReversed() }).nodes;
    expect(reversed.map(({ nodeId }) => nodeId)).toEqual(["n3", "n2", "n1"]);
    expect(reversed[0]?.address).toBe("10.77.0.1");
    const named = planOf({ hosts: ["n3=10.0.0.3", "n1=10.0.0.1", "n2=10.0.0.2"] }).nodes;
    expect(named.map(({ nodeId, address }) => `${nodeId} ${address}`)).toEqual([
      "n1 10.0.0.1",
      "n2 10.0.0.2",
      "n3 10.0.0.3",
    ]);
  });

  test("gives no host to a node that is retired or distrusted", () => {
    const nodes = trustRoot.nodes.map((node) => ({ ...node, status: node.nodeId === "n3" ? "retired" : node.status }));
    const smaller = { ...trustRoot, nodes } as TrustRoot;
    expect(planOf({ trustRoot: smaller, cards: [], hosts: HOSTS.slice(0, 2) }).nodes).toHaveLength(2);
    expect(faultsOf({ trustRoot: smaller })).toEqual(["n3 is retired: it has no host"]);
  });

  test.each<[string, () => Partial<DeploymentWish>, readonly string[]]>([
    ["nothing to go by", () => ({ cards: [], trustRoot: null }), ["there is neither a card nor a trust root"]],
    ["too few hosts", () => ({ hosts: HOSTS.slice(1) }), ["there are 3 nodes (n1, n2, n3), and 2 hosts"]],
    ["too many hosts", () => ({ hosts: [...HOSTS, "10.77.0.4"] }), ["there are 3 nodes (n1, n2, n3), and 4 hosts"]],
    [
      "one host for two nodes",
      () => ({ hosts: ["10.77.0.1", "10.77.0.2", "10.77.0.1"] }),
      ["the host 10.77.0.1 is there twice: two nodes on one go down together"],
    ],
    [
      "names of hosts",
      () => ({ hosts: ["a", "10.77.0.2", "fd00::3"] }),
      ["a", "fd00::3"].map((host) => `a host is given by its IPv4 address on the network of the nodes, not: ${host}`),
    ],
    [
      "addresses that no other host reaches",
      () => ({ hosts: ["127.0.0.1", "0.0.0.0", "224.0.0.1"] }),
      [
        "127.0.0.1 is loopback: no other host reaches it",
        "0.0.0.0 is no address of one host",
        "224.0.0.1 is no address of one host",
      ],
    ],
    [
      "hosts for other nodes",
      () => ({ hosts: ["n1=10.0.0.1", "n1=10.0.0.2", "n4=10.0.0.4", "10.0.0.5"] }),
      [
        "name the node of 10.0.0.5, too, or of no host",
        "there is no host for n2",
        "there is no host for n3",
        "n1 has two hosts",
        "there is no node n4",
      ],
    ],
    [
      "a card that is missing",
      () => ({ cards: without("n2"), hosts: HOSTS.slice(1) }),
      ["the trust root names n2, and there is no card of it"],
    ],
    [
      "a card of a node that is not named",
      () => ({ cards: changed("n3", () => ({ nodeId: "n4" })) }),
      [
        "the trust root names n3, and there is no card of it",
        "there is a card of n4, which the trust root does not name",
      ],
    ],
    [
      "another key of each kind",
      () => {
        const { authPublicKey, cosignerVkey, logVkey, originFingerprint } = cardOf("n2", others);
        return { cards: changed("n2", () => ({ authPublicKey, cosignerVkey, logVkey, originFingerprint })) };
      },
      ["auth key", "cosigner key", "origin", "log key"].map(
        (what) => `the card of n2 has another ${what} than the trust root`,
      ),
    ],
    ["two cards of one node", () => ({ cards: [...cards, cardOf("n2")] }), ["there are two cards of n2"]],
    [
      "the keys of another node",
      () => {
        const { authPublicKey, cosignerVkey, originFingerprint } = cardOf("n1");
        return { trustRoot: null, cards: changed("n2", () => ({ authPublicKey, cosignerVkey, originFingerprint })) };
      },
      ["auth key", "cosigner key", "origin"].map((what) => `n1 and n2 have the same ${what}: each node draws its own`),
    ],
    [
      "a trust root that has ended",
      () => ({ trustRoot: { ...trustRoot, expiresS: NOW_S } }),
      [`version 1 of the trust root expired at ${new Date(NOW_S * 1000).toISOString()}`],
    ],
  ])("is refused with %s", (_what, wish, faults) => {
    expect(faultsOf(wish())).toEqual(faults);
  });

  test("names cards of another cluster, with what else is wrong", () => {
    const mixed = [...without("n3"), cardOf("n3", others)];
    const id = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex").slice(0, 8);
    const [stranger] = others;
    const [its, the] = [id(stranger?.clusterId ?? new Uint8Array()), id(trustRoot.clusterId)];
    const line = `the card of n3 is of the cluster other.test ${its}…, not of plan.test ${the}…`;
    expect(faultsOf({ cards: mixed, trustRoot: null, hosts: HOSTS.slice(1) })).toEqual([
      line,
      "there are 3 nodes (n1, n2, n3), and 2 hosts",
    ]);
    expect(faultsOf({ cards: mixed })).toContain(line);
  });
});

describe("the files of a plan", () => {
  test("are private, and hold no secret and nothing of chance", async () => {
    const [one, two] = [join(folder, "one"), join(folder, "two")];
    for (const out of [one, two]) await writeDeployment(planOf(), out);
    for (const id of IDS) {
      expect(statSync(join(one, id)).mode & 0o777).toBe(0o700);
      const names = readdirSync(join(one, id)).toSorted();
      expect(names).toEqual(["api.json", "compose.env", "control-plane.json", "hosts"]);
      for (const name of names) {
        const text = readFileSync(join(one, id, name), "utf8");
        expect(statSync(join(one, id, name)).mode & 0o777).toBe(0o600);
        expect(readFileSync(join(two, id, name), "utf8")).toBe(text);
        // A password would stand between the role and its host.
        expect(text).not.toMatch(/anchoring_(owner|reader):/u);
      }
    }
  });

  test("are settings that both processes take, in which every node finds the others", async () => {
    const out = join(folder, "settings");
    await writeDeployment(planOf(), out);
    for (const id of IDS) {
      const sourceOf = (name: string): { path: string; text: string; environment: Record<string, string> } => {
        return { path: name, text: readFileSync(join(out, id, name), "utf8"), environment: {} };
      };
      const control = readSettings(CONTROL_PLANE_SETTINGS, sourceOf("control-plane.json"));
      const api = readSettings(API_SETTINGS, sourceOf("api.json"));
      expect([control.node_id, api.node_id]).toEqual([id, id]);
      expect(control.peers.map((peer) => peer.node_id)).toEqual(IDS.filter((other) => other !== id));
      const names = readFileSync(join(out, id, "hosts"), "utf8");
      const addressOf = (host: string): string | undefined =>
        names
          .split("\n")
          .find((line) => line.split(" ").includes(host))
          ?.split(" ")[0];
      expect([control.listen.host, api.listen.host].map(addressOf)).toEqual(Array(2).fill(HOSTS[IDS.indexOf(id)]));
      for (const peer of control.peers) expect(addressOf(peer.host)).toBe(HOSTS[IDS.indexOf(peer.node_id)]);
      expect(api.proxies).toEqual(HOSTS);
    }
  });

  test("say what differs from what the examples of the units say, and nothing else", async () => {
    const out = join(folder, "examples");
    await writeDeployment(planOf(), out);
    const examples = join(import.meta.dirname, "../../../deploy/systemd");
    for (const name of ["control-plane.json", "api.json"]) {
      const read = (path: string): Record<string, unknown> =>
        JSON.parse(readFileSync(join(path, name), "utf8")) as Record<string, unknown>;
      const own = ["cluster_id", "origin_fingerprint", "database_url", "proxies"];
      const same = (settings: Record<string, unknown>): object =>
        Object.fromEntries(Object.entries(settings).filter(([field]) => !own.includes(field)));
      expect(same(read(join(out, "n1")))).toEqual(same(read(examples)));
    }
  });

  test("are replaced by those of another plan, and leave out Compose where it has no place", async () => {
    const out = join(folder, "again");
    await writeDeployment(planOf(), out);
    chmodSync(join(out, "n1"), 0o755);
    writeFileSync(join(out, "n1", "hosts"), "stale");
    await writeDeployment(planOf({ hosts: ["10.9.0.1", "10.9.0.2", "10.9.0.3"] }), out);
    expect(statSync(join(out, "n1")).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(out, "n1", "compose.env"), "utf8")).toContain("ANCHORING_N3_ADDRESS=10.9.0.3\n");
    expect(readFileSync(join(out, "n1", "hosts"), "utf8")).toContain("10.9.0.1 n1.control.internal n1.api.internal\n");
    const two = join(folder, "two-nodes");
    await writeDeployment(planOf({ trustRoot: null, cards: without("n3"), hosts: HOSTS.slice(1) }), two);
    expect(readdirSync(join(two, "n1"))).toEqual(["api.json", "control-plane.json", "hosts"]);
  });

  test("give Compose each variable that compose.host.yml asks for", async () => {
    const out = join(folder, "compose");
    await writeDeployment(planOf(), out);
    const text = readFileSync(join(import.meta.dirname, "../../../deploy/compose.host.yml"), "utf8");
    const asked = new Set([...text.matchAll(/\$\{([A-Z0-9_]+)/gu)].map(([, name = ""]) => name));
    const lines = readFileSync(join(out, "n2", "compose.env"), "utf8").split("\n");
    const given = lines.flatMap((line) => /^([A-Z0-9_]+)=/u.exec(line)?.[1] ?? []);
    expect([...asked].filter((name) => !given.includes(name))).toEqual([]);
    expect(lines[0]).toBe("# n2 at 10.77.0.2: docker compose up --detach n2-postgres n2-control n2-api");
  });
});
