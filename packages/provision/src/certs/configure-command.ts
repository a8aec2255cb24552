import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { loadCluster } from "../cluster-files.ts";
import { giveContainerFiles, writeClusterFile, writeNodeContainerFiles } from "../container-files.ts";
import { PrivateFileError, fileExists } from "../files.ts";
import { CertsUsageError, OUT_DIR_DEFAULT, shortPath } from "./certs-arguments.ts";
import type { CertsTerminal } from "./certs-arguments.ts";
import { accountOf, writeEnvironment } from "./compose-environment.ts";

const HELP = `Usage: node certs/configure.js <node> [options]

On the host of one node whose keys were made there (anchorctl member prepare, member install): writes what its
containers of docker-compose.yml need besides, with database passwords of its own. The folder holds trust-root.txt,
root-thk.txt and nodes/<node>/identity/.

Options:
  --out <folder>       the cluster's folder (default: ${OUT_DIR_DEFAULT})
  --env <file>         file for docker compose (default: .env)
  --uid <number>       account of the containers; only root may choose (default: you; for root: 10001)
  --help               print this
`;

/** @throws PrivateFileError `exists`: a database keeps the passwords that it was made with */
export async function configureCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      out: { type: "string", default: OUT_DIR_DEFAULT },
      env: { type: "string", default: ".env" },
      uid: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    terminal.write(HELP);
    return 0;
  }
  const [nodeId, ...others] = positionals;
  if (nodeId === undefined || others.length > 0) throw new CertsUsageError(HELP);
  const { workingDir } = terminal;
  const account = accountOf(values.uid);
  const outDir = resolve(workingDir, values.out);
  const cluster = await loadCluster(outDir);
  const node = cluster.nodes.find((known) => known.nodeId === nodeId);
  if (node === undefined) throw new CertsUsageError(`the cluster has no node ${nodeId}`);
  const own = ["auth.key", "cosigner.key", "log.seed", "tls.key", "tls.crt", "ca.crt", "trust-root.txt"];
  for (const path of [join(outDir, "root-thk.txt"), ...own.map((name) => join(node.identityDir, name))]) {
    if (!(await fileExists(path))) throw new PrivateFileError("missing", path, "prepare and install the node first");
  }
  await writeNodeContainerFiles(cluster, node);
  await writeClusterFile(cluster);
  if (process.getuid?.() === 0) await giveContainerFiles(outDir, account.uid, account.gid);
  await writeEnvironment({ ...account, outDir, envFile: resolve(workingDir, values.env) }, workingDir);
  terminal.write(`  ${shortPath(node.dir, workingDir)} is complete. Next:
    docker compose up --detach ${nodeId}-postgres ${nodeId}-control ${nodeId}-api
`);
  return 0;
}
