import { describe, expect, test } from "@jest/globals";
import {
  type OriginFingerprint,
  type TrustRootWitness,
  bytesToHex,
  findOrigin,
  parseNote,
} from "@event-anchoring/protocol";
import type { Ceremony } from "@event-anchoring/provision";
import { type QuietCluster, type QuietMachine, SimulatedWitness, WORLD_START_MS } from "@event-anchoring/simulator";
import { ceremonyOf, identityOf } from "./ceremony.ts";
import { anchor, answered, clusterOf, decided, made } from "./cluster-steps.ts";
import { eventCommand } from "./commands.ts";
import { nextTrustRoot } from "./trust-root-maker.ts";

const NOW_S = WORLD_START_MS / 1000;

interface Watched {
  readonly cluster: QuietCluster;
  readonly ceremony: Ceremony;
  readonly witnesses: readonly SimulatedWitness[];
  /** Names of witnesses that never answer. */
  readonly silent: Set<string>;
  /** Sizes of the heads that each witness was sent. */
  readonly asked: { readonly witness: string; readonly origin: string; readonly treeSize: number }[];
}

/** Three nodes, and a second trust root that lists these witnesses. */
async function watchedCluster(names: readonly string[]): Promise<Watched> {
  const ceremony = ceremonyOf(["a", "b", "c"]);
  const { trustRoot } = identityOf(ceremony, "a");
  const logKeyOf = (origin: string) =>
    trustRoot.origins.find(({ logVkey }) => logVkey.name === origin)?.logVkey.publicKey ?? null;
  const asked: { witness: string; origin: string; treeSize: number }[] = [];
  const witnesses = names.map(
    (name) =>
      new SimulatedWitness({
        name,
        logKeyOf,
        onSigned: ({ checkpoint }, witness) => asked.push({ witness, ...checkpoint }),
      }),
  );
  const cluster = await made(await clusterOf(ceremony));
  const silent = new Set<string>();
  cluster.witnesses = async ({ url, body, signal }) => {
    const witness = witnesses.find(({ line }) => url === `${line.url}/add-checkpoint`);
    if (witness === undefined) throw new Error(`nobody is at ${url}`);
    if (!silent.has(witness.name)) return witness.addCheckpoint(body, NOW_S);
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("no answer")), { once: true });
    });
  };
  const watched = { cluster, ceremony, witnesses, silent, asked };
  await listed(
    watched,
    witnesses.map(({ line }) => line),
  );
  return watched;
}

/** The next trust root adds these and removes those. */
async function listed(
  { cluster, ceremony }: Watched,
  addWitnesses: readonly TrustRootWitness[],
  removeWitnesses: readonly string[] = [],
  witnessQuorum?: number,
): Promise<void> {
  const leader = cluster.leader() as QuietMachine;
  const change = { addWitnesses, removeWitnesses, ...(witnessQuorum === undefined ? {} : { witnessQuorum }) };
  const command = nextTrustRoot(ceremony, leader.live().state, change);
  expect(await decided(cluster, leader, command)).toMatchObject({ kind: "applied" });
}

const originOf = ({ identity }: QuietMachine): OriginFingerprint => identity.originFingerprint;

function witnessedSize(node: QuietMachine, origin: OriginFingerprint): number {
  return node.session?.witnessing.heads.heldOf(origin)?.treeSize ?? 0;
}

/** Names of the keys whose lines a note has, behind those of the log and the nodes. */
function witnessNames(note: string): readonly string[] {
  return parseNote(note).lines.flatMap(({ name }) => (name.startsWith("witness.example/") ? [name] : []));
}

function sizeOf(node: QuietMachine, origin: OriginFingerprint): number {
  return node.live().state.origins.get(bytesToHex(origin))?.tree.size ?? 0;
}

/** Every node that runs holds the whole tree as witnessed. */
async function everywhere({ cluster }: Watched, origin: OriginFingerprint): Promise<void> {
  const running = cluster.nodes.filter(({ session }) => session !== null);
  await cluster.until(
    () => running.every((node) => witnessedSize(node, origin) === sizeOf(node, origin)),
    "the newest head is witnessed everywhere",
  );
}

describe("witnesses that the trust root lists", () => {
  test("cosign every head, and every node shows their lines, after a restart too", async () => {
    const watched = await watchedCluster(["w1", "w2", "w3"]);
    const { cluster } = watched;
    const [first, other] = cluster.nodes as [QuietMachine, QuietMachine];
    await anchor(cluster, first, 1);
    await everywhere(watched, originOf(first));
    await cluster.time.advance(2000);
    for (const node of cluster.nodes) {
      const shown = node.live().heldOf(originOf(first));
      const answer = await answered(cluster, cluster.read(node, [originOf(first)]));
      if (answer.type !== "ready_to_read") throw new Error(answer.detail);
      const note = answer.certificates[0]?.checkpoint ?? "";
      expect(shown?.treeSize).toBe(sizeOf(node, originOf(first)));
      expect(witnessNames(note)).toEqual(["witness.example/w1", "witness.example/w2", "witness.example/w3"]);
      const logName = findOrigin(node.live().trustRoot(), originOf(first))?.logVkey.name;
      expect(parseNote(note).lines[0]?.name).toBe(logName);
    }
    cluster.crash(other);
    cluster.witnesses = null;
    await cluster.start(other);
    await everywhere(watched, originOf(first));
  });

  test("are asked by the leader alone, at most once a second for each origin", async () => {
    const { cluster, asked } = await watchedCluster(["w1"]);
    const [first] = cluster.nodes as [QuietMachine];
    await cluster.time.advance(3000);
    const before = asked.length;
    for (let seed = 0; seed < 15; seed++) await anchor(cluster, first, seed);
    await cluster.time.advance(2000);
    // 15 heads in 3 s, and 2 s more: nothing is sent between two looks of the leader.
    expect(asked.length - before).toBeLessThanOrEqual(6);
    expect(asked.at(-1)?.treeSize).toBe(sizeOf(first, originOf(first)));
  });

  test("hold nothing up when they do not answer", async () => {
    const watched = await watchedCluster(["w1", "w2", "w3"]);
    const { cluster, silent } = watched;
    const [first] = cluster.nodes as [QuietMachine];
    await everywhere(watched, originOf(first));
    for (const name of ["w1", "w2", "w3"]) silent.add(name);
    const before = sizeOf(first, originOf(first));
    await anchor(cluster, first, 1);
    const startedMs = cluster.time.clock.monotonicMs();
    const result = cluster.submit(first, eventCommand(originOf(first), 2, null));
    let answeredMs = 0;
    void result.then(() => (answeredMs = cluster.time.clock.monotonicMs()));
    await cluster.time.advance(300);
    expect(await result).toMatchObject({ kind: "decided" });
    expect(answeredMs - startedMs).toBeLessThan(100);
    expect(witnessedSize(first, originOf(first))).toBe(before);
    // One of three is silent: the word *witnessed* needs two.
    silent.delete("w1");
    silent.delete("w3");
    await everywhere(watched, originOf(first));
  });

  test("are asked on by the next leader, from the size that they know", async () => {
    const watched = await watchedCluster(["w1", "w2"]);
    const { cluster } = watched;
    const leader = cluster.leader() as QuietMachine;
    const writer = cluster.nodes.find((node) => node !== leader) as QuietMachine;
    await anchor(cluster, writer, 1);
    await everywhere(watched, originOf(writer));
    cluster.crash(leader);
    await cluster.until(() => cluster.leader() !== null, "another leader");
    await anchor(cluster, writer, 2);
    await everywhere(watched, originOf(writer));
    expect(witnessedSize(writer, originOf(writer))).toBe(sizeOf(writer, originOf(writer)));
  });

  test("have cosigned more than a node has: it waits until it has that, and does all else meanwhile", async () => {
    const { cluster } = await watchedCluster(["w0", "w1", "w2"]);
    const leader = cluster.leader() as QuietMachine;
    const behind = cluster.nodes.find((node) => node !== leader) as QuietMachine;
    cluster.link = ({ to, frame }) => (to === behind.nodeId && frame.type === "raft" ? [] : [1]);
    await anchor(cluster, leader, 1);
    const origin = originOf(leader);
    const sizeOn = (node: QuietMachine) => node.live().state.origins.get(bytesToHex(origin))?.tree.size ?? 0;
    const size = sizeOn(leader);
    await cluster.until(() => witnessedSize(leader, origin) >= size, "a witnessed head");
    await cluster.time.advance(2000);
    expect(sizeOn(behind)).toBeLessThan(size);
    cluster.link = null;
    await cluster.until(() => witnessedSize(behind, origin) >= size, "the same head on the node that was behind");
  });

  test("count no more once a trust root drops them", async () => {
    const watched = await watchedCluster(["w1", "w2", "w3"]);
    const { cluster } = watched;
    const [first] = cluster.nodes as [QuietMachine];
    await anchor(cluster, first, 1);
    await everywhere(watched, originOf(first));
    await cluster.time.advance(2000);
    await listed(watched, [], ["w2"], 2);
    await everywhere(watched, originOf(first));
    const note = first.live().witnessing.heads.heldOf(originOf(first))?.checkpoint() ?? "";
    expect(witnessNames(note)).toEqual(["witness.example/w1", "witness.example/w3"]);
    await listed(watched, [], ["w1", "w3"]);
    expect(cluster.nodes.map((node) => witnessedSize(node, originOf(first)))).toEqual([0, 0, 0]);
  });
});

describe("who prefers a witnessed head", () => {
  test("waits for one that is larger than it asks for, and gets none if none comes in time", async () => {
    const { cluster, silent } = await watchedCluster(["w1"]);
    const [first] = cluster.nodes as [QuietMachine];
    silent.add("w1");
    await anchor(cluster, first, 1);
    const afterSize = sizeOf(first, originOf(first)) - 1;
    const awaited = (remainingMs: number) =>
      new Promise((respond) => {
        const deadlineMs = cluster.time.clock.monotonicMs() + remainingMs;
        first.live().awaitWitnessed({ origin: originOf(first), afterSize, deadlineMs, respond });
      });
    const inVain = awaited(1000);
    await cluster.time.advance(1200);
    expect(await inVain).toMatchObject({ type: "ready_to_read", certificates: [] });
    const later = awaited(25_000);
    silent.delete("w1");
    await cluster.time.advance(20_000);
    expect(await later).toMatchObject({ certificates: [{ treeSize: afterSize + 1 }] });
    // What is there already is answered at once.
    expect(await awaited(0)).toMatchObject({ certificates: [{ treeSize: afterSize + 1 }] });
  });
});
