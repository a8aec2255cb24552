/** A thread that lives one life for each seed it is sent. */
import { parentPort, workerData } from "node:worker_threads";
import { liveOneLife } from "./life.ts";
import type { CommonOptions } from "./life-pool.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the body of a thread");
const common = workerData as CommonOptions;
port.on("message", (seed: number) => {
  // An error ends the thread, and with it the series: a life that breaks an invariant is not an error.
  void liveOneLife({ ...common, seed }).then((result) => port.postMessage(result));
});
