// The health check of a container. Of the api process: is the node ready, as the gateway asks. Of the control plane:
// does it take connections of the api process. Exit code 0 or 1, and the reason on standard output.
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { connect } from "node:net";

const TIMEOUT_MS = 3000;
const target = process.argv[2];

function end(isHealthy, reason) {
  process.stdout.write(`${reason}\n`);
  process.exit(isHealthy ? 0 : 1);
}

const config = JSON.parse(readFileSync(`/config/${target}.json`, "utf8"));
setTimeout(() => end(false, `no answer in ${TIMEOUT_MS} ms`), TIMEOUT_MS);
if (target === "api") {
  const { host, port } = config.listen;
  get({ host, port, path: "/readyz" }, (response) => {
    const chunks = [];
    response.on("data", (chunk) => chunks.push(chunk));
    response.on("end", () => end(response.statusCode === 200, Buffer.concat(chunks).toString("utf8")));
  }).on("error", (error) => end(false, error.message));
} else {
  connect(config.api_socket, () => end(true, "takes connections")).on("error", (error) => end(false, error.message));
}
