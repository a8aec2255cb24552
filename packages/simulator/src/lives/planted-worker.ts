/** A thread that looks for one planted bug for each place it is sent. */
import { parentPort } from "node:worker_threads";
import { findAt } from "./find-planted-bugs.ts";

const port = parentPort;
if (port === null) throw new Error("this file is the body of a thread");
port.on("message", (place: number) => {
  // An error ends the thread, and with it the series.
  void findAt(place).then((find) => port.postMessage(find));
});
