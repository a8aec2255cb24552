/** A thread that lives one drawn life for each seed it is sent. */
import { parentPort } from "node:worker_threads";
import { liveDrawnLife } from "./drawn-life.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the body of a thread");
port.on("message", (seed: number) => {
  void liveDrawnLife(seed).then((life) => port.postMessage(life));
});
