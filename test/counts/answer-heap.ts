/**
 * Prints how many heap bytes a certified write takes. A process of its own: async hooks that another suite of the same
 * process has switched on allocate for each promise, and are never switched off.
 */
import { HttpConnection } from "@event-anchoring/testkit/clients";
import { median } from "../../packages/bench/src/figures/percentile.ts";
import { clientIdOf, keyIdOf, startHarness } from "../../packages/api/test/api-harness.ts";
import type { Command } from "@event-anchoring/ledger";
import { eventCommand } from "../../packages/control-plane/test/commands.ts";
import { CannedControl } from "./canned-control.ts";

/** Few enough that most samples end before the heap is collected. */
const ANSWERS_OF_A_SAMPLE = 10;
const SAMPLES = 80;
const WARM_UP_ANSWERS = 2000;
const LEAVES = 300;

const control = new CannedControl();
const harness = await startHarness({ controlPlane: (node) => control.before(node) });
const { node, port, key } = harness;
const credential = { apiClientId: clientIdOf("default"), keyId: keyIdOf("default") };
const command = (seed: number): Command => ({ ...eventCommand(node.origin, seed), credential }) as Command;
// The answer's path has as many hashes as that of a tree with so many leaves.
for (let seed = 1; seed < LEAVES; seed++) node.apply([command(seed)]);
const call = { requestId: "canned", trace: null };
const outcome = await node.submit(command(0), { remainingMs: 1000, answer: "certified", call });
control.answer = { type: "submitted", requestId: 0, finality: "certified", outcome };
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
const connection = new HttpConnection({ url: `http://127.0.0.1:${port}`, headers, timeoutMs: 10_000 });

async function answers(count: number): Promise<void> {
  const body = `{"origin_fingerprint":"${harness.origin}","event_hash":"${"ab".repeat(32)}"}`;
  for (let at = 0; at < count; at++) {
    const { status, body: bytes } = await connection.send({ path: "/v1/event-anchors", body });
    if (status !== 201) throw new Error(`answered ${status}: ${bytes.toString("utf8", 0, 300)}`);
  }
}

await answers(WARM_UP_ANSWERS);
const samples: number[] = [];
for (let sample = 0; sample < SAMPLES; sample++) {
  const before = process.memoryUsage().heapUsed;
  await answers(ANSWERS_OF_A_SAMPLE);
  const taken = process.memoryUsage().heapUsed - before;
  // Less than nothing: the heap was collected meanwhile.
  if (taken > 0) samples.push(taken / ANSWERS_OF_A_SAMPLE);
}
if (samples.length <= SAMPLES / 2) throw new Error(`only ${samples.length} of ${SAMPLES} samples count`);
process.stdout.write(`${Math.round(median(samples))}\n`);

connection.close();
await harness.close();
await control.close();
