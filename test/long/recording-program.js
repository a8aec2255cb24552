/**
 * A program that records, and may be killed at any time: for recorder-kills.test.ts. Arguments: the folder, the API's
 * addresses with commas between them, how many bytes may wait, the number of the first event, and that after the last.
 * Prints the number of each event when `record` has returned for it. An event has the same id, time and content
 * whenever it is recorded. Flushes and ends when its standard input has ended.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { Client } from "@event-anchoring/sdk";
import { Recorder, SpoolFull } from "@event-anchoring/sdk/recorder";

const [directory, endpoints, spoolBytesMax, first, end] = process.argv.slice(2);
const START_MS = Date.parse("2026-11-23T10:00:00.000Z");

const client = new Client({ endpoints: endpoints.split(","), apiKey: process.env.ANCHORING_API_KEY });
const recorder = await Recorder.open({
  client,
  directory,
  batchEventsMax: 200,
  batchMs: 20,
  spoolBytesMax: Number(spoolBytesMax),
  onError: () => undefined,
});

/** Until there is room. */
async function record(at) {
  const clientEventId = createHash("sha256").update(`${directory} ${at}`).digest().subarray(0, 16);
  const said = { what: "count", when: new Date(START_MS + at), clientEventId };
  for (;;) {
    try {
      recorder.record({ at, text: "x".repeat(300) }, said);
      return;
    } catch (error) {
      if (!(error instanceof SpoolFull)) throw error;
      await recorder.room();
    }
  }
}

for (let at = Number(first); at < Number(end); at++) {
  await record(at);
  writeSync(1, `${at}\n`);
}
await once(process.stdin.resume(), "end");
await recorder.flush({ timeoutMs: 600_000 });
await recorder.close();
