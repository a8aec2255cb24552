/** Certificates of a CA of your own: ask for one, put it in place. */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { installTls, loadCluster, requestTls } from "../cluster-files.ts";
import { CertsUsageError, OUT_DIR_DEFAULT, dateText } from "./certs-arguments.ts";
import type { CertsTerminal } from "./certs-arguments.ts";

const REQUEST_HELP = `Usage: node certs/request.js <node> [--out <folder>]

Draws a new TLS key for a node and writes tls.csr beside its certificate, for your CA to issue from. What the node uses
stays as it is until: node certs/install.js <node> <certificate>
`;

const INSTALL_HELP = `Usage: node certs/install.js <node> <certificate file> [--out <folder>]

Puts the certificate that your CA has issued for a node's tls.csr into use, after it was checked as the node will check
it: its one name is the node's URI, its key is the one of the request, a CA of the node's ca.crt has issued it.
`;

/** @throws PrivateFileError */
export async function requestCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const parsed = await parse(args, terminal, 1, REQUEST_HELP);
  if (parsed === null) return 0;
  const { outDir, identityDir, nodeId } = parsed;
  await requestTls(outDir, nodeId);
  terminal.write(`  ${join(identityDir, "tls.csr")}\n`);
  return 0;
}

/** @throws PrivateFileError */
export async function installCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const parsed = await parse(args, terminal, 2, INSTALL_HELP);
  if (parsed === null) return 0;
  const { outDir, nodeId, file } = parsed;
  const expiresMs = await installTls(outDir, nodeId, await readFile(resolve(terminal.workingDir, file), "utf8"));
  terminal.write(`  ${nodeId}: certificate in place, expires ${dateText(expiresMs)}\n`);
  return 0;
}

async function parse(
  args: readonly string[],
  terminal: CertsTerminal,
  count: number,
  help: string,
): Promise<{
  readonly outDir: string;
  readonly identityDir: string;
  readonly nodeId: string;
  readonly file: string;
} | null> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { out: { type: "string", default: OUT_DIR_DEFAULT }, help: { type: "boolean", default: false } },
  });
  if (values.help) {
    terminal.write(help);
    return null;
  }
  const [nodeId, file = ""] = positionals;
  if (nodeId === undefined || positionals.length !== count) throw new CertsUsageError(help);
  const outDir = resolve(terminal.workingDir, values.out);
  const node = (await loadCluster(outDir)).nodes.find((known) => known.nodeId === nodeId);
  if (node === undefined) throw new CertsUsageError(`the cluster has no node ${nodeId}`);
  return { outDir, identityDir: node.identityDir, nodeId, file };
}
