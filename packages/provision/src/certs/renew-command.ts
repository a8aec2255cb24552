import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { apiDirOf, writeApiTls } from "../api-certificates.ts";
import { loadCluster, nodePaths, renewTls } from "../cluster-files.ts";
import { fileExists } from "../files.ts";
import { readGatewayHosts, writeGatewayFiles } from "../gateway-files.ts";
import { CertsUsageError, LIFETIME_DEFAULT, OUT_DIR_DEFAULT, dateText, parseLifetime } from "./certs-arguments.ts";
import type { CertsTerminal } from "./certs-arguments.ts";

const HELP = `Usage: node certs/renew.js [options] [node …]

Gives nodes new TLS keys and certificates, in place; without names, all nodes and the gateway. Running nodes take them
up within seconds and keep every connection. The gateway is told with: docker compose kill --signal USR2 gateway

Options:
  --out <folder>       the cluster's folder (default: ${OUT_DIR_DEFAULT})
  --lifetime <time>    (default: ${LIFETIME_DEFAULT})
  --gateway            only the gateway's, where no node is named
  --help, --version    print this, or the version
`;

/** @throws PrivateFileError `missing` where the CA's key is elsewhere */
export async function renewCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      out: { type: "string", default: OUT_DIR_DEFAULT },
      lifetime: { type: "string", default: LIFETIME_DEFAULT },
      gateway: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    terminal.write(HELP);
    return 0;
  }
  const outDir = resolve(terminal.workingDir, values.out);
  const lifetimeMs = parseLifetime(values.lifetime);
  const { nowMs } = terminal;
  const cluster = await loadCluster(outDir);
  const known = cluster.nodes.map(({ nodeId }) => nodeId);
  const unknown = positionals.find((nodeId) => !known.includes(nodeId));
  if (unknown !== undefined) throw new CertsUsageError(`the cluster has no node ${unknown}`);
  const wanted = positionals.length > 0 ? positionals : values.gateway ? [] : known;
  for (const nodeId of wanted) {
    const expiresMs = await renewTls({ outDir, nodeId, lifetimeMs, nowMs });
    terminal.write(`  ${nodeId}: new certificate, expires ${dateText(expiresMs)}\n`);
    const node = { nodeId, ...nodePaths(outDir, nodeId) };
    if (!(await fileExists(join(apiDirOf(node), "tls.crt")))) continue;
    await writeApiTls(cluster, node, { lifetimeMs, nowMs });
    terminal.write(`  ${nodeId}: new certificate of its api process\n`);
  }
  const isGatewayWanted = values.gateway || positionals.length === 0;
  if (isGatewayWanted && (await fileExists(join(outDir, "gateway", "ca.key")))) {
    const hosts = await readGatewayHosts(outDir);
    const expiresMs = await writeGatewayFiles({ outDir, clusterName: cluster.clusterName, hosts, lifetimeMs, nowMs });
    terminal.write(`  gateway: new certificate for ${hosts.join(", ")}, expires ${dateText(expiresMs)}\n`);
    terminal.write("  Tell it: docker compose kill --signal USR2 gateway\n");
  }
  return 0;
}
