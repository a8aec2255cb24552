/** An operator's calls to a cluster's control planes: which nodes, with which credential, until one has answered. */
import { X509Certificate } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { parseIdentity } from "@event-anchoring/control-contract";
import type { OperatorResult } from "@event-anchoring/control-contract";
import { equalBytes } from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import {
  OperatorCallError,
  PrivateFileError,
  expiryOf,
  issueOperatorCertificate,
  readPrivateFile,
} from "@event-anchoring/provision";
import type { CalledNode, OperatorCredential } from "@event-anchoring/provision";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { openRunningCluster } from "./nearest-cluster.ts";
import type { NearbyCluster } from "./nearest-cluster.ts";
import { readText } from "./read-input.ts";
import { loadTrustRoots, trustRootFilesIn } from "./trust-roots.ts";
import type { GivenPin } from "./trust-roots.ts";

export interface OperatorOptions {
  /** Files of the operator's certificate, its key and the cluster's CA; all three, or none to make one. */
  readonly certificate: string | null;
  readonly key: string | null;
  readonly ca: string | null;
  /** `<node id>@<host>:<port>` of control planes; empty: those of the cluster folder. */
  readonly nodes: readonly string[];
  /** Folder with cluster.json, ca/ and trust-root.txt; null: the nearest `.anchoring`. */
  readonly cluster: string | null;
  readonly trustRoots: readonly string[];
  readonly pin: GivenPin | null;
  readonly workingDir: string;
}

export interface Operators {
  /** The newest version held here. */
  readonly trustRoot: TrustRoot;
  /** Null: everything was given, and no folder was looked for. */
  readonly folder: string | null;
  readonly credential: OperatorCredential;
  readonly nodes: readonly CalledNode[];
}

const OPERATOR_ID = "anchorctl";
const NODE_ADDRESS = /^([a-z][a-z0-9-]{0,31})@(.+):(\d{1,5})$/u;
const PEM_BYTES_MAX = 64 * 1024;

/**
 * What is not given is taken from the cluster folder, whose CA issues a certificate for the occasion, in memory. The
 * nodes' keys are those of the trust root: no other process can answer in their name.
 * @throws CliError
 */
export async function openOperators(options: OperatorOptions): Promise<Operators> {
  const folder = folderOf(options);
  const given = options.trustRoots;
  const paths = given.length > 0 || folder === null ? given : trustRootFilesIn(folder.folder);
  const { trustRoot } = loadTrustRoots({ paths, pin: options.pin, workingDir: options.workingDir }).chain.newest;
  const nodes = options.nodes.length > 0 ? options.nodes.map(parseNodeAddress) : addressesOf(folder, trustRoot);
  const credential = await credentialOf(options, folder);
  if (!equalBytes(credential.clusterId, trustRoot.clusterId)) {
    const message = "the operator's certificate is for another cluster than the trust root";
    throw new CliError(EXIT.usage, "certificate_of_another_cluster", message);
  }
  const named = nodes.map((node) => ({ ...node, authPublicKey: authKeyOf(trustRoot, node.nodeId) }));
  return { trustRoot, folder: folder?.folder ?? null, credential, nodes: named };
}

/** The cluster folder, unless all that it would be asked for was given. */
function folderOf(options: OperatorOptions): NearbyCluster | null {
  const isComplete = options.certificate !== null && options.nodes.length > 0 && options.trustRoots.length > 0;
  if (isComplete && options.cluster === null) return null;
  const instead = "--operator-cert, --operator-key, --ca, --node and --trust-root";
  return openRunningCluster(options.cluster, options.workingDir, instead);
}

interface NodeAddress {
  readonly nodeId: string;
  readonly host: string;
  readonly port: number;
}

function parseNodeAddress(text: string): NodeAddress {
  const [, nodeId = "", host = "", digits = ""] = NODE_ADDRESS.exec(text) ?? [];
  const port = Number(digits);
  if (nodeId === "" || port < 1 || port > 65_535) {
    throw new CliError(EXIT.usage, "node_invalid", `--node is <node id>@<host>:<port>, not: ${text}`);
  }
  return { nodeId, host: host.replace(/^\[(.*)\]$/u, "$1"), port };
}

/** Those of the folder that the trust root lists as members: others have no word here. */
function addressesOf(folder: NearbyCluster | null, { nodes }: TrustRoot): readonly NodeAddress[] {
  const members = nodes.filter(({ status }) => status === "active" || status === "learner");
  const known = (folder?.nodes ?? []).filter(({ id }) => members.some(({ nodeId }) => nodeId === id));
  const addresses = known.flatMap(({ id, controlAddress }) =>
    controlAddress === null ? [] : [parseNodeAddress(`${id}@${controlAddress}`)],
  );
  if (addresses.length > 0) return addresses;
  throw new CliError(EXIT.usage, "no_node", "no control plane is known: give --node <node id>@<host>:<port>");
}

function authKeyOf(trustRoot: TrustRoot, nodeId: string): Uint8Array {
  const node = trustRoot.nodes.find((listed) => listed.nodeId === nodeId);
  if (node !== undefined) return node.authPublicKey;
  throw new CliError(EXIT.usage, "node_unknown", `the trust root lists no node ${nodeId}`);
}

async function credentialOf(options: OperatorOptions, folder: NearbyCluster | null): Promise<OperatorCredential> {
  const { certificate, key, ca } = options;
  try {
    if (certificate === null && key === null && ca === null && folder !== null) {
      return await issueOperatorCertificate({ outDir: folder.folder, operatorId: OPERATOR_ID });
    }
    if (certificate === null || key === null || ca === null) {
      const message = "--operator-cert, --operator-key and --ca are given together";
      throw new CliError(EXIT.usage, "credential_incomplete", message);
    }
    return await readCredential(certificate, key, ca);
  } catch (error) {
    if (!(error instanceof PrivateFileError)) throw error;
    const hint = error.code === "missing" ? "; give --operator-cert, --operator-key and --ca" : "";
    throw new CliError(EXIT.usage, "cannot_read", `${error.message}${hint}`, error);
  }
}

async function readCredential(certificate: string, key: string, ca: string): Promise<OperatorCredential> {
  const certificatePem = readText(certificate, PEM_BYTES_MAX);
  const identity = identityOf(certificatePem, certificate);
  const expiresMs = expiryOf(certificatePem);
  if (expiresMs <= Date.now()) {
    const message = `${certificate} expired at ${new Date(expiresMs).toISOString()}: such certificates live a day`;
    throw new CliError(EXIT.usage, "certificate_expired", message);
  }
  const credential = {
    ...identity,
    certificatePem,
    expiresMs,
    caCertificatePem: readText(ca, PEM_BYTES_MAX),
    privateKeyPem: await readPrivateFile(key),
  };
  return Object.defineProperty(credential, "privateKeyPem", { enumerable: false });
}

function identityOf(pem: string, path: string): Pick<OperatorCredential, "operatorId" | "clusterId"> {
  const name = subjectAltNameOf(pem) ?? "";
  const identity = name.startsWith("URI:") ? parseIdentity(name.slice("URI:".length)) : null;
  if (identity !== null && identity.role === "operator") {
    return { operatorId: identity.id, clusterId: identity.clusterId };
  }
  throw new CliError(EXIT.usage, "certificate_invalid", `${path} is not an operator's certificate`);
}

function subjectAltNameOf(pem: string): string | null {
  try {
    return new X509Certificate(pem).subjectAltName ?? null;
  } catch {
    // Whatever it is, it is no certificate: the caller says so.
    return null;
  }
}

/** How a call is made to one node. */
export interface CallOptions {
  readonly credential: OperatorCredential;
  readonly node: CalledNode;
  readonly timeoutMs: number;
}

const TRY_TIMEOUT_MS = 3000;
const PAUSE_MS = 200;

/**
 * Asks the nodes in turn until one has answered for good. Every call is idempotent, so asking again is safe.
 * @param notYet why an answer is only for now; null: it is for good
 * @throws CliError `unavailable` with the newest reason when none has in time; `refused` if operators may not call
 */
export async function askNodes<Result>(
  { credential, nodes }: Pick<Operators, "credential" | "nodes">,
  timeoutMs: number,
  call: (options: CallOptions) => Promise<Result>,
  notYet: (result: Result) => string | null,
): Promise<Result> {
  const giveUpAt = performance.now() + timeoutMs;
  let reason = "no node was asked";
  for (let attempt = 0; performance.now() < giveUpAt; attempt++) {
    const node = nodes[attempt % nodes.length];
    if (node === undefined) break;
    try {
      const tryTimeoutMs = Math.max(1, Math.min(TRY_TIMEOUT_MS, giveUpAt - performance.now()));
      const result = await call({ credential, node, timeoutMs: tryTimeoutMs });
      const refusal = notYet(result);
      if (refusal === null) return result;
      reason = `${node.nodeId}: ${refusal}`;
    } catch (error) {
      if (!(error instanceof OperatorCallError)) throw error;
      if (error.code === "forbidden") throw new CliError(EXIT.refused, error.code, `${node.nodeId}: ${error.message}`);
      reason = `${node.nodeId}: ${error.message}`;
    }
    await delay(PAUSE_MS);
  }
  throw new CliError(EXIT.unavailable, "outcome_unknown", `no node has answered in ${timeoutMs} ms (${reason})`);
}

/** What a call that writes has come to, unless the cluster refused it. */
export type Done = Extract<OperatorResult, { readonly outcome: "applied" | "unchanged" | "recorded" }>;

/** A call that writes. @throws CliError `refused` with the code of the rule that refuses it */
export async function write(
  operators: Operators,
  timeoutMs: number,
  call: (options: CallOptions) => Promise<OperatorResult>,
): Promise<Done> {
  const result = await askNodes(operators, timeoutMs, call, (given) =>
    given.outcome === "refused" ? `${given.code}: ${given.detail}` : null,
  );
  if (result.outcome !== "rejected" && result.outcome !== "refused") return result;
  throw new CliError(EXIT.refused, result.code, `the cluster refused: ${result.detail} (${result.code})`);
}
