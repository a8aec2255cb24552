// The health check of a container. Of the api process: is the node ready, as the gateway asks. Of the control plane:
// does it take connections of the api process. Exit code 0 or 1, and the reason on standard output.
//
// health.js <control-plane|api> [settings file]
//
// It runs every ten seconds and so loads nothing of the programs: the few settings that it needs are read here, the
// environment over the file as the processes read them (docs/operating/configuration.md).
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { get as getOverTls } from "node:https";
import { connect } from "node:net";

const TIMEOUT_MS = 3000;
const [target, file = `/config/${target}.json`] = process.argv.slice(2);

function end(isHealthy, reason) {
  process.stdout.write(`${reason}\n`);
  process.exit(isHealthy ? 0 : 1);
}

function readSettings() {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return end(false, `${file}: ${error.message}`);
  }
}

const { env } = process;
if (target !== "api" && target !== "control-plane") end(false, "usage: health <control-plane|api> [settings file]");
setTimeout(() => end(false, `no answer in ${TIMEOUT_MS} ms`), TIMEOUT_MS);
const settings = readSettings();
if (target === "api") {
  const host = env.ANCHORING_API__LISTEN__HOST ?? settings.listen?.host;
  const port = env.ANCHORING_API__LISTEN__PORT ?? settings.listen?.port;
  // It asks its own process, and tells it nothing: whose certificate that shows is the gateway's business.
  const ask = settings.tls === undefined ? get : getOverTls;
  ask({ host, port, path: "/readyz", rejectUnauthorized: false }, (response) => {
    const chunks = [];
    response.on("data", (chunk) => chunks.push(chunk));
    response.on("end", () => end(response.statusCode === 200, Buffer.concat(chunks).toString("utf8")));
  }).on("error", (error) => end(false, error.message));
} else {
  const path = env.ANCHORING_CONTROL_PLANE__API_SOCKET ?? settings.api_socket;
  connect(path, () => end(true, "takes connections")).on("error", (error) => end(false, error.message));
}
