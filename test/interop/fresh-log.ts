/** A ledger written in the test, with fixed keys: what is proved of it is as new as the code that proves it. */
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { bytesToHex, proveInclusion, receiptToJson } from "@event-anchoring/protocol";
import { formatBundle } from "@event-anchoring/bundle";
import { BundleWorld, idOf } from "../../packages/bundle/test/vector-builders/bundle-world.ts";
import type { Written } from "../../packages/bundle/test/vector-builders/bundle-world.ts";
import { sha256 } from "../vector-builders/keys.ts";

/** Enough for paths of more than one tile, and for a size that is no power of two. */
const EVENTS = 300;

export interface FreshLog {
  /** Version 1 of the trust root, a signed note. */
  readonly document: string;
  readonly rootThk: string;
  readonly world: BundleWorld;
  /** A signed event under a grant, in an origin of three hundred leaves. */
  readonly act: Written;
  readonly actId: string;
  /** Whole: it proves that nothing is revoked. */
  readonly bundle: string;
  /** Answers for the receipt of the act, and for nothing else. */
  serve(): Promise<{ readonly apiUrl: string; readonly server: Server }>;
}

export function writeFreshLog(): FreshLog {
  const world = new BundleWorld();
  const deployer = world.claim("deployer");
  const agent = world.claim("agent", { at: 1 });
  const grant = world.grant(deployer, agent);
  for (let at = 0; at < EVENTS; at++) world.event(`noise ${at}`, { at: at % 10 === 0 ? 2 : 0 });
  const act = world.event("act", { iris: agent.claim, grant, actor: "agent" });
  for (let at = 0; at < 7; at++) world.event(`later ${at}`, { at: at % 3 });
  const singles = [deployer.claim, grant];
  const bundle = formatBundle(world.cut({ subject: act, singles, ranges: [3, 1, 0] }));
  return {
    document: world.documents[0] ?? "",
    rootThk: bytesToHex(world.pin),
    world,
    act,
    actId: idOf(act),
    bundle,
    serve: () => serve(world, act),
  };
}

function receiptJson(world: BundleWorld, act: Written): object {
  const { bytes: leaf, leaf: read } = act;
  const treeSize = world.tree(0).length;
  const path = proveInclusion(read.depth, treeSize, world.hashAt(0), sha256);
  return receiptToJson({ leaf, index: read.depth, treeSize, path, checkpoint: world.checkpoint(0) }, 1, sha256);
}

async function serve(world: BundleWorld, act: Written): Promise<{ apiUrl: string; server: Server }> {
  const receipt = JSON.stringify(receiptJson(world, act));
  const server = createServer((request, response) => {
    const isKnown = request.url === `/v1/event-anchors/${idOf(act)}/receipt`;
    response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" }).end(isKnown ? receipt : "{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
