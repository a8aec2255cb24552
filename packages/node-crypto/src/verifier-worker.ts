/** The program of the verifying thread: one answer for each job. An error ends the thread, and its jobs fail. */
import { parentPort } from "node:worker_threads";
import { nodeCrypto } from "./node-crypto.ts";
import { verdictsOf } from "./verification-job.ts";

const port = parentPort;
if (port === null) throw new Error("this program runs in a thread");

port.on("message", (job: Uint8Array) => {
  port.postMessage(verdictsOf(job, nodeCrypto.ed25519Verify));
});
