import { nodeCrypto } from "@event-anchoring/node-crypto";
import { receiptFromJson, verifyReceipt } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { HttpConnection } from "@event-anchoring/testkit/clients";
import { trustRootsOf } from "@event-anchoring/testkit/cluster";
import { ownGroup, readCpu, readPeaksMb } from "@event-anchoring/testkit/overload";
import { latencyFigures, usageBetween } from "../load/measure-load.ts";
import type { MeasuredCluster } from "../load/measured-cluster.ts";
import type { LoadRow, Row } from "../figures/rows.ts";
import type { ClusterScenario, Stage } from "./scenario.ts";
import { singleEvents } from "./events.ts";

const RECEIPTS = 200;
const NAME = "verify a receipt in the client, offline";

/** From the JSON of an answer to the verdict, on one thread, offline; no two receipts in a row are alike. */
export const RECEIPT_VERIFICATION: ClusterScenario = {
  kind: "cluster",
  name: NAME,
  needs: "clients",
  isOptIn: false,
  run: async (cluster, stage): Promise<readonly Row[]> => {
    const { reporter } = stage.progress;
    const receipts = await reporter.step(`fetching ${RECEIPTS} receipts`, () => receiptsOf(cluster));
    return [rowOf(receipts, trustRootsOf(cluster.trustRoot), stage)];
  },
};

async function receiptsOf(cluster: MeasuredCluster): Promise<readonly string[]> {
  const { origins, headers } = cluster;
  const workload = singleEvents(origins);
  const [url = ""] = await cluster.urlsAt("leader");
  const connection = new HttpConnection({ url, headers, timeoutMs: 10_000 });
  try {
    const receipts: string[] = [];
    while (receipts.length < RECEIPTS) {
      const request = workload.next(url);
      if (request === null) break;
      const { status, body } = await connection.send(request);
      if (status !== 201) throw new Error(`the node answered ${status}: ${body.toString("utf8", 0, 300)}`);
      const { receipt } = JSON.parse(body.toString("utf8")) as { readonly receipt: unknown };
      receipts.push(JSON.stringify(receipt));
    }
    return receipts;
  } finally {
    connection.close();
  }
}

function rowOf(receipts: readonly string[], trustRoots: TrustRootChain, { leadInMs, measureMs }: Stage): LoadRow {
  const leadIn = verifyFor(receipts, trustRoots, Math.min(leadInMs, measureMs));
  const groups = [ownGroup()];
  const before = readCpu(groups);
  const { seconds, latenciesMs } = verifyFor(receipts, trustRoots, measureMs);
  return {
    type: "load",
    system: "client",
    scenario: NAME,
    clients: 1,
    unit: "receipts",
    unitsPerRequest: 1,
    leadIn: { seconds: leadIn.seconds, isSteady: true },
    seconds,
    ratePerSecond: latenciesMs.length / seconds,
    ...latencyFigures(latenciesMs),
    failures: {},
    usage: usageBetween(before, readCpu(groups), latenciesMs.length, readPeaksMb(groups)),
    counts: null,
    shape: null,
  };
}

/** @throws for a receipt that does not verify: the service would be wrong, and figures would be worthless */
function verifyFor(
  receipts: readonly string[],
  trustRoots: TrustRootChain,
  ms: number,
): { readonly seconds: number; readonly latenciesMs: readonly number[] } {
  const latenciesMs: number[] = [];
  const startedAt = performance.now();
  let now = startedAt;
  while (now - startedAt < ms) {
    const { receipt, anchorId } = receiptFromJson(JSON.parse(receipts[latenciesMs.length % receipts.length] ?? ""));
    const { failure } = verifyReceipt({ receipt, trustRoots, expect: { anchorId } }, nodeCrypto);
    if (failure !== null) throw new Error(`a receipt does not verify: ${failure.step} ${failure.code}`);
    const beganAt = now;
    now = performance.now();
    latenciesMs.push(now - beganAt);
  }
  return { seconds: (now - startedAt) / 1000, latenciesMs };
}
