/** Certificates of a CA of your own: ask for one, put it in place. */
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { CertificateIdentity } from "@event-anchoring/control-contract";
import { hexToBytes } from "@event-anchoring/protocol";
import { apiDirOf } from "../api-certificates.ts";
import { splitCertificates } from "../ca.ts";
import { loadCluster } from "../cluster-files.ts";
import { readPrivateFile } from "../files.ts";
import { readTrustRoots } from "../node-identity.ts";
import { installRequestedTls, writeTlsRequest } from "../tls-files.ts";
import { CertsUsageError, OUT_DIR_DEFAULT, dateText } from "./certs-arguments.ts";
import type { CertsTerminal } from "./certs-arguments.ts";

const REQUEST_HELP = `Usage: node certs/request.js <node> [--out <folder> | --identity <folder>] [--api]

Draws a new TLS key for a node and writes tls.csr beside its certificate, for your CA to issue from. What the node uses
stays as it is until: node certs/install.js <node> <certificate>

  --out <folder>       the cluster's folder (default: ${OUT_DIR_DEFAULT})
  --identity <folder>  the node's identity folder, wherever it is: of a node that is to join, for one
  --api                for the listener of its api process instead
  --help, --version    print this, or the version
`;

const INSTALL_HELP = `Usage: node certs/install.js <node> <certificate> [--out <folder> | --identity <folder>] [--api]

Puts the certificate that your CA has issued for a node's tls.csr into use, after it was checked as the node will check
it: its names are those of the request, its key is the one of the request, a CA of the node's ca.crt has issued it.
With --api it is for the listener of the node's api process.

  --help, --version    print this, or the version
`;

/** @throws PrivateFileError */
export async function requestCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const parsed = await parse(args, terminal, 1, REQUEST_HELP);
  if (parsed === null) return 0;
  const { tlsDir, identity } = parsed;
  await writeTlsRequest(tlsDir, identity);
  terminal.write(`  ${join(tlsDir, "tls.csr")}\n`);
  return 0;
}

/** @throws PrivateFileError */
export async function installCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const parsed = await parse(args, terminal, 2, INSTALL_HELP);
  if (parsed === null) return 0;
  const { identityDir, tlsDir, identity, file } = parsed;
  const authorities = splitCertificates(await readPrivateFile(join(identityDir, "ca.crt")));
  const certificate = await readFile(resolve(terminal.workingDir, file), "utf8");
  const expiresMs = await installRequestedTls(tlsDir, identity, certificate, authorities);
  terminal.write(`  ${identity.id}: certificate in place, expires ${dateText(expiresMs)}\n`);
  return 0;
}

interface Request {
  /** Has ca.crt. */
  readonly identityDir: string;
  /** Gets key and certificate. */
  readonly tlsDir: string;
  readonly identity: CertificateIdentity;
  readonly file: string;
}

async function parse(
  args: readonly string[],
  terminal: CertsTerminal,
  count: number,
  help: string,
): Promise<Request | null> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      out: { type: "string", default: OUT_DIR_DEFAULT },
      identity: { type: "string" },
      api: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    terminal.write(help);
    return null;
  }
  const [nodeId, file = ""] = positionals;
  if (nodeId === undefined || positionals.length !== count) throw new CertsUsageError(help);
  const { workingDir } = terminal;
  const found =
    values.identity === undefined
      ? await nodeOfCluster(resolve(workingDir, values.out), nodeId)
      : await nodeAlone(resolve(workingDir, values.identity));
  const { identityDir, clusterId } = found;
  const tlsDir = values.api ? apiDirOf({ dir: dirname(identityDir) }) : identityDir;
  return { identityDir, tlsDir, identity: { role: values.api ? "api" : "node", clusterId, id: nodeId }, file };
}

type Found = Pick<Request, "identityDir"> & { readonly clusterId: Uint8Array };

async function nodeOfCluster(outDir: string, nodeId: string): Promise<Found> {
  const { clusterId, nodes } = await loadCluster(outDir);
  const node = nodes.find((known) => known.nodeId === nodeId);
  if (node === undefined) throw new CertsUsageError(`the cluster has no node ${nodeId}`);
  return { identityDir: node.identityDir, clusterId: hexToBytes(clusterId, 32) };
}

/** Its folder says which cluster it is of; no trust root need name it yet. */
async function nodeAlone(identityDir: string): Promise<Found> {
  const { newest } = await readTrustRoots(identityDir);
  return { identityDir, clusterId: newest.trustRoot.clusterId };
}
