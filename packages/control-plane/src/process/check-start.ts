/** What would keep this process from starting as the node that its settings name, found without starting it. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, verifyTrustRootChain } from "@event-anchoring/protocol";
import { ConfigError, loadConfig } from "../node/config.ts";
import type { ControlPlaneConfig } from "../node/config.ts";
import { tlsFilesOf } from "../node/node-network.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import { PromiseFile, PromiseFileError } from "../promises/promise-file.ts";
import { TlsMaterialError, loadTlsMaterial } from "../transport/tls-material.ts";
import { IdentityError, identityFileFaults, loadIdentity } from "./load-identity.ts";
import { inspectWitness } from "./open-witness.ts";

const EXPECTED_ERRORS = [ConfigError, IdentityError, TlsMaterialError, PromiseFileError];

/** The message of an error that a person can act on, with what the system says. @throws any other error */
export function faultOf(error: unknown): string {
  if (!(error instanceof Error) || !EXPECTED_ERRORS.some((expected) => error instanceof expected)) throw error;
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.message}${cause}`;
}

/**
 * Reads the settings and all files that they name. Nothing is written, locked, or connected to, so a running node may
 * be checked, too.
 * @returns a line for each fault
 */
export async function checkStart(
  configPath: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  let config: ControlPlaneConfig;
  try {
    config = loadConfig(configPath, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.cause === undefined ? error.faults : [faultOf(error)];
    throw error;
  }
  const unreadable = identityFileFaults(config.identity_dir);
  const faults = [...unreadable];
  const take = async (check: () => unknown): Promise<void> => {
    try {
      await check();
    } catch (error) {
      faults.push(faultOf(error));
    }
  };
  await take(() => checkPromises(config));
  // The rest is compared with the identity.
  if (unreadable.length > 0) return faults;
  await take(async () => {
    const identity = loadOwn(config);
    await take(() => checkTls(config, identity));
    await take(() => inspectWitness({ config, identity }));
  });
  return faults;
}

/** The node's identity, if it is of the cluster that the settings name. @throws IdentityError, ConfigError */
export function loadOwn(config: ControlPlaneConfig): NodeIdentity {
  const identity = loadIdentity(config.identity_dir, config.node_id);
  if (bytesToHex(identity.clusterId) === config.cluster_id) return identity;
  throw new ConfigError("cluster_id is not that of the trust root");
}

/** The file need not be there: the first start makes it, in a folder that is. */
async function checkPromises({ promise_file: path, ...own }: ControlPlaneConfig): Promise<void> {
  if (!existsSync(path)) {
    if (existsSync(dirname(path))) return;
    throw new ConfigError(`promise_file: there is no folder ${dirname(path)}`);
  }
  const { nodeId, clusterId } = await PromiseFile.inspect(path);
  if (nodeId === own.node_id && bytesToHex(clusterId) === own.cluster_id) return;
  throw new ConfigError(`promise_file: ${path} is that of node ${nodeId}, or of another cluster`);
}

async function checkTls({ identity_dir: folder }: ControlPlaneConfig, identity: NodeIdentity): Promise<void> {
  const { configured, laterTrustRoots = [] } = identity;
  const documents = [configured.document, ...laterTrustRoots];
  const verified = verifyTrustRootChain({ documents, pinnedRootThk: configured.rootThk }, nodeCrypto);
  const newest = verified.result === "verified" ? verified.chain.newest.trustRoot : identity.trustRoot;
  await loadTlsMaterial(tlsFilesOf(folder), identity, newest.ca, Date.now());
}
