/** What a node needs as a witness of other logs: the list of them, the key, and what was promised under it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WitnessPromisesError, WitnessedLogsError, parseWitnessedLogs } from "@event-anchoring/control-contract";
import type { WitnessedLog } from "@event-anchoring/control-contract";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import { VKEY_TYPE, equalBytes, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { TrustRoot, Vkey } from "@event-anchoring/protocol";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import { ConfigError } from "../node/config.ts";
import type { ControlPlaneConfig } from "../node/config.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import { LockHeldError } from "../promises/promise-lock.ts";
import { Witness } from "../witness/witness.ts";
import { WitnessFile } from "../witness/witness-file.ts";
import { readHex32 } from "./load-identity.ts";

export interface WitnessParts {
  readonly config: Pick<ControlPlaneConfig, "witness" | "identity_dir">;
  readonly identity: NodeIdentity;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * @returns null: this node witnesses no other logs
 * @throws ConfigError, IdentityError: a node that is set up wrongly does not start
 */
export async function openWitness({
  config,
  identity,
  clock,
  logger,
}: WitnessParts): Promise<{ readonly witness: Witness; close(): Promise<void> } | null> {
  if (config.witness === null) return null;
  const { promise_file: promisePath } = config.witness;
  const { logs, signer } = readParts(config.witness.logs, { config, identity });
  const store = await withPath(promisePath, () => WitnessFile.open(promisePath, nodeCrypto));
  const { vkey, isSpent, heads } = store.current;
  try {
    assertKeyOf(vkey, signer, promisePath);
  } catch (error) {
    await store.close();
    throw error;
  }
  logger.info("witness_opened", { name: vkey.name, logs: logs.size, cosigned: heads.size, spent: isSpent });
  const witness = new Witness({ logs, store, signer, crypto: nodeCrypto, clock, logger });
  return { witness, close: () => store.close() };
}

/** Reads what `openWitness` would, without taking the promises for itself. @throws ConfigError, IdentityError */
export async function inspectWitness({ config, identity }: Pick<WitnessParts, "config" | "identity">): Promise<void> {
  if (config.witness === null) return;
  const { logs: logsPath, promise_file: promisePath } = config.witness;
  const { signer } = readParts(logsPath, { config, identity });
  const { vkey } = await withPath(promisePath, () => WitnessFile.read(promisePath, nodeCrypto));
  assertKeyOf(vkey, signer, promisePath);
}

function readParts(logsPath: string, { config, identity }: Pick<WitnessParts, "config" | "identity">) {
  const logs = readLogs(logsPath);
  const signer = createSigner(readHex32(join(config.identity_dir, "witness.key")));
  refuseOtherUse(signer.publicKey, identity, logs);
  return { logs, signer };
}

function assertKeyOf(vkey: Vkey, { publicKey }: Signer, promisePath: string): void {
  if (vkey.type === VKEY_TYPE.cosignature && equalBytes(vkey.publicKey, publicKey)) return;
  throw new ConfigError(`${promisePath} holds the promises of another key than witness.key`);
}

function readLogs(path: string): ReadonlyMap<string, WitnessedLog> {
  try {
    return parseWitnessedLogs(readFileSync(path, "utf8"), nodeCrypto.sha256);
  } catch (cause) {
    if (cause instanceof WitnessedLogsError) throw new ConfigError(`${path}: ${cause.message}`, { cause });
    throw new ConfigError(`cannot read the witnessed logs in ${path}`, { cause });
  }
}

async function withPath<Opened>(path: string, open: () => Promise<Opened>): Promise<Opened> {
  try {
    return await open();
  } catch (cause) {
    if (cause instanceof WitnessPromisesError || cause instanceof LockHeldError) {
      throw new ConfigError(`the promises of the witness in ${path}: ${cause.message}`, { cause });
    }
    // Without them nobody knows what the key has signed: it is never used again.
    throw new ConfigError(`cannot read the promises of the witness in ${path}`, { cause });
  }
}

/** The message of a cosignature names no signer (tlog-cosignature): a key that signs as two would lie for one. */
function refuseOtherUse(publicKey: Uint8Array, identity: NodeIdentity, logs: ReadonlyMap<string, WitnessedLog>): void {
  const { cosigner, authSigner, configured, laterTrustRoots = [], otherSigner, logSignerOf } = identity;
  const isOwn =
    [cosigner, authSigner].some((own) => equalBytes(own.publicKey, publicKey)) ||
    (["auth", "cosigner"] as const).some((name) => (otherSigner?.(name, publicKey) ?? null) !== null);
  if (isOwn) throw new ConfigError("witness.key is another key of this node");
  const documents = [configured.document, ...laterTrustRoots];
  const verified = verifyTrustRootChain({ documents, pinnedRootThk: configured.rootThk }, nodeCrypto);
  const roots = verified.result === "verified" ? verified.chain.versions.map(({ trustRoot }) => trustRoot) : [];
  const listed: Vkey[] = [...logs.values()].flatMap(({ vkeys }) => vkeys);
  const keys = [...roots.flatMap(keysOf), ...listed.map((vkey) => vkey.publicKey)];
  for (const root of roots) keys.push(...root.origins.map((origin) => logSignerOf(origin.originFingerprint).publicKey));
  if (keys.some((key) => equalBytes(key, publicKey))) {
    throw new ConfigError("witness.key has another use: the trust root or the list of logs names it");
  }
}

function keysOf({ rootKeys, origins, nodes, operators, witnesses }: TrustRoot): Uint8Array[] {
  const vkeys = [
    ...rootKeys.keys,
    ...origins.map(({ logVkey }) => logVkey),
    ...nodes.map(({ cosignerVkey }) => cosignerVkey),
    ...operators.map(({ vkey }) => vkey),
    ...witnesses.map(({ vkey }) => vkey),
  ];
  return [...vkeys.map(({ publicKey }) => publicKey), ...nodes.map(({ authPublicKey }) => authPublicKey)];
}
