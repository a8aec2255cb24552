import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { writeApiTls } from "../api-certificates.ts";
import { splitCertificates } from "../ca.ts";
import { createCluster } from "../cluster-files.ts";
import type { ProvisionedCluster } from "../cluster-files.ts";
import { giveContainerFiles, writeContainerFiles } from "../container-files.ts";
import { readPrivateFile } from "../files.ts";
import { writeGatewayFiles } from "../gateway-files.ts";
import { QUORUM_SHAPES, describeQuorumShape } from "../quorum-shape.ts";
import type { QuorumShape } from "../quorum-shape.ts";
import {
  CertsUsageError,
  LIFETIME_DEFAULT,
  OUT_DIR_DEFAULT,
  dateText,
  parseLifetime,
  shortPath,
} from "./certs-arguments.ts";
import type { CertsTerminal } from "./certs-arguments.ts";
import { accountOf, writeEnvironment } from "./compose-environment.ts";

const shapeLines = QUORUM_SHAPES.map((shape) => `                         ${describeQuorumShape(shape)}`).join("\n");

const HELP = `Usage: node certs/ceremony.js [options]

Makes a new cluster for docker-compose.yml: cluster id, log seed, each node's keys, three root keys of which two sign,
an operator's key, trust root version 1, the control plane's CA and its successor, certificates, database roles, and a
certificate for the gateway.

Options:
  --out <folder>       where it goes; must not hold a cluster yet (default: ${OUT_DIR_DEFAULT})
  --name <name>        cluster name, for good (default: anchoring.internal)
  --shape <k>of<n>     how many nodes there are, and how many of them must cosign (default: 2of3)
${shapeLines}
                       docker-compose.yml has three nodes: of more, the others need services like theirs
  --host <name>        host name or address that clients use; may be repeated (default: localhost, 127.0.0.1)
  --lifetime <time>    of the certificates (default: ${LIFETIME_DEFAULT})
  --ca <file>          PEM of a CA of yours that will issue the nodes' certificates; further ones in it are pinned too
  --env <file>         file for docker compose (default: .env)
  --uid <number>       account of the containers; only root may choose (default: you; for root: 10001)
  --help, --version    print this, or the version
`;

const ROOT_KEYS = 3;
const ROOT_THRESHOLD = 2;
const HOST_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

interface CeremonyOptions {
  readonly outDir: string;
  readonly clusterName: string;
  readonly shape: QuorumShape;
  readonly hosts: readonly string[];
  readonly lifetimeMs: number;
  /** PEM; null: the cluster gets a CA of its own. */
  readonly foreignAuthorities: readonly string[] | null;
  readonly envFile: string;
  readonly uid: number;
  readonly gid: number;
}

/** Everything that `docker compose up` needs. @throws PrivateFileError `exists` */
export async function ceremonyCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const options = await parseOptions(args, terminal);
  if (options === null) {
    terminal.write(HELP);
    return 0;
  }
  const { outDir, clusterName, shape, hosts, lifetimeMs, foreignAuthorities, uid, gid } = options;
  const cluster = await createCluster({
    clusterName,
    nodes: nodeIdsOf(shape).map((nodeId) => {
      return { nodeId, controlHost: `${nodeId}.control.internal`, controlPort: 7400 };
    }),
    quorum: shape.quorum,
    rootKeys: ROOT_KEYS,
    rootThreshold: ROOT_THRESHOLD,
    outDir,
    tlsLifetimeMs: lifetimeMs,
    hasNextAuthority: true,
    nowMs: terminal.nowMs,
    ...(foreignAuthorities === null ? {} : { foreignAuthorities }),
  });
  const times = { lifetimeMs, nowMs: terminal.nowMs };
  await writeContainerFiles(cluster);
  for (const node of cluster.nodes) await writeApiTls(cluster, node, times);
  const nodeAuthorities = await readPrivateFile(join(outDir, "ca", "ca.crt"));
  await writeGatewayFiles({ outDir, clusterName, hosts, nodeAuthorities, ...times });
  if (process.getuid?.() === 0) await giveContainerFiles(outDir, uid, gid);
  await writeEnvironment(options, terminal.workingDir);
  terminal.write(farewell(cluster, options, terminal));
  return 0;
}

function nodeIdsOf({ nodes }: QuorumShape): readonly string[] {
  return Array.from({ length: nodes }, (_, at) => `n${at + 1}`);
}

function parseShape(text: string): QuorumShape {
  const shape = QUORUM_SHAPES.find(({ quorum, nodes }) => text === `${quorum}of${nodes}`);
  if (shape !== undefined) return shape;
  throw new CertsUsageError(`--shape is one of\n${shapeLines}\nwritten as in 2of3, not: ${text}`);
}

async function parseOptions(args: readonly string[], terminal: CertsTerminal): Promise<CeremonyOptions | null> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      out: { type: "string", default: OUT_DIR_DEFAULT },
      name: { type: "string", default: "anchoring.internal" },
      shape: { type: "string", default: "2of3" },
      host: { type: "string", multiple: true, default: ["localhost", "127.0.0.1"] },
      lifetime: { type: "string", default: LIFETIME_DEFAULT },
      ca: { type: "string" },
      env: { type: "string", default: ".env" },
      uid: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const wrong = values.host.find((host) => isIP(host) === 0 && !HOST_NAME.test(host));
  if (wrong !== undefined)
    throw new CertsUsageError(`--host is a host name in lower case or an address, not: ${wrong}`);
  const { workingDir } = terminal;
  return {
    outDir: resolve(workingDir, values.out),
    clusterName: values.name,
    shape: parseShape(values.shape),
    hosts: values.host,
    lifetimeMs: parseLifetime(values.lifetime),
    foreignAuthorities: values.ca === undefined ? null : await readAuthorities(resolve(workingDir, values.ca)),
    envFile: resolve(workingDir, values.env),
    ...accountOf(values.uid),
  };
}

async function readAuthorities(path: string): Promise<readonly string[]> {
  const certificates = splitCertificates(await readFile(path, "utf8"));
  if (certificates.length === 0) throw new CertsUsageError(`${path} holds no certificate in PEM`);
  return certificates;
}

function farewell(cluster: ProvisionedCluster, options: CeremonyOptions, terminal: CertsTerminal): string {
  const folder = shortPath(cluster.outDir, terminal.workingDir);
  const rootKeys = join(folder, "root-keys");
  const { foreignAuthorities, hosts, lifetimeMs } = options;
  const expires = dateText(terminal.nowMs + lifetimeMs);
  const [host = "localhost"] = hosts;
  const certificates =
    foreignAuthorities === null
      ? `Certificates expire ${expires}: node certs/renew.js`
      : `Have your CA issue ${join(folder, "nodes", "<id>", "identity", "tls.csr")} for each node, then:
    node certs/install.js <id> <certificate>
  and ${join(folder, "nodes", "<id>", "api", "tls.csr")}: node certs/install.js <id> <certificate> --api`;
  return `
  Cluster    ${cluster.clusterName}  ${cluster.clusterId}
  RootTHK    ${cluster.rootThk}
  Folder     ${folder}
  Quorum     ${describeQuorumShape(options.shape)}

  ${certificates}

  Next:
    docker compose up --detach --wait
    docker compose run --rm anchorctl keys create
    curl --cacert ${join(folder, "gateway", "ca.crt")} https://${host}:8443/healthz

  The three root keys in ${rootKeys} are demo keys: they, the CA's key, the operator's and those of all nodes were
  made on this machine, which therefore controls the cluster. For production make each key where it stays:
  docs/operating/ceremony.md, offline, step by step. Publish the RootTHK: it is what verifiers pin.
`;
}
