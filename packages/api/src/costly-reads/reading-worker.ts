/** The thread of costly reads: takes one after the other, asks the other thread for read indices, and answers. */
import { parentPort, workerData } from "node:worker_threads";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { openLog, systemClock } from "@event-anchoring/telemetry";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { ReadyToRead } from "../control-plane/control-plane.ts";
import { NodeReads } from "../reading/node-reads.ts";
import { TrustRootReader } from "../reading/trust-root-reader.ts";
import { problemOf } from "../request/problems.ts";
import type { ReadDependencies } from "../routes/handler.ts";
import { makeCostlyRead } from "./costly-reads.ts";
import type { CostlyRead } from "./costly-reads.ts";
import type { FromReader, ReadingSettings, ToReader } from "./reading-messages.ts";

/** One for each read under way, and as many for the statements that a read makes at a time. */
const READ_CONNECTIONS_MAX = 4;

if (parentPort === null) throw new Error("this program is a thread of the api process");
const port = parentPort;
const { nodeId, logLevel, databaseUrl, pinnedRootThk } = workerData as ReadingSettings;
const logger = openLog({ level: logLevel, node: nodeId, process: "api" });
const onError = (cause: Error): void => logger.warn("lost an idle database connection", { err: cause });
const reads = NodeReads.of({ url: databaseUrl, max: READ_CONNECTIONS_MAX, onError }, logger);

interface Asker {
  readonly resolve: (ready: ReadyToRead) => void;
  readonly reject: (error: RefusedError) => void;
}

const askers = new Map<number, Asker>();
let lastQuestion = 0;

function tell(message: FromReader, transferred: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, [...transferred]);
}

const dependencies: ReadDependencies = {
  controlPlane: {
    read: (...question) =>
      new Promise((resolve, reject) => {
        const id = ++lastQuestion;
        askers.set(id, { resolve, reject });
        tell({ kind: "ask", id, question });
      }),
  },
  reads,
  states: reads,
  trustRoots: new TrustRootReader(nodeCrypto, pinnedRootThk),
  crypto: nodeCrypto,
  clock: systemClock,
};

async function make(id: number, read: CostlyRead): Promise<void> {
  try {
    const made = await makeCostlyRead(read, dependencies);
    const { buffer } = made.answer.body;
    tell({ kind: "made", id, made }, buffer instanceof ArrayBuffer ? [buffer] : []);
  } catch (cause) {
    tell({ kind: "failed", id, ...problemOf(cause), cause });
  }
}

function takeAnswer(message: Exclude<ToReader, { kind: "make" }>): void {
  const asker = askers.get(message.id);
  askers.delete(message.id);
  if (message.kind === "ready") asker?.resolve(message.ready);
  else {
    const { code, detail, retryAfterMs } = message.refusal;
    asker?.reject(new RefusedError(code, detail, retryAfterMs));
  }
}

let isAsked = false;

port.on("message", (message: ToReader) => {
  if (message.kind !== "make") {
    takeAnswer(message);
    return;
  }
  // The first read comes when the tables exist, so it waits for the attempt that opens them.
  if (!isAsked) reads.start();
  isAsked = true;
  void make(message.id, message.read);
});
