import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createSigner, nodeCrypto, type Signer } from "@event-anchoring/node-crypto";
import {
  type OriginFingerprint,
  type TrustRoot,
  type TrustRootNode,
  bytesToHex,
  equalBytes,
  hexToBytes,
  logKeySeed,
  originFingerprintOf,
  raftIdOf,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { KeyName, NodeIdentity } from "../ports/identity.ts";

/** A file of the node's identity is missing, readable by others, or does not fit the rest. */
export class IdentityError extends Error {
  override readonly name = "IdentityError";
}

const LATER_DOCUMENT = /^trust-root-([1-9][0-9]{0,9})\.txt$/u;

/**
 * Reads and checks the identity files of `directory`. A node that no trust root there lists yet may start: it waits
 * until one does.
 * @throws IdentityError
 */
export function loadIdentity(directory: string, nodeId: string): NodeIdentity {
  const document = readOwn(join(directory, "trust-root.txt"));
  const laterTrustRoots = laterDocuments(directory);
  const pin = readHex32(join(directory, "root-thk.txt"));
  const documents = [document, ...laterTrustRoots];
  const verified = verifyTrustRootChain({ documents, pinnedRootThk: pin }, nodeCrypto);
  if (verified.result === "refused") {
    const { position, code, detail } = verified;
    const which = position === 0 ? "trust-root.txt" : `the trust root ${position} versions after trust-root.txt`;
    throw new IdentityError(`${which} is refused: ${code}: ${detail}`);
  }
  const [first, newest] = [verified.chain.versions[0] ?? verified.chain.newest, verified.chain.newest];
  const root = first.trustRoot;
  const line = newest.trustRoot.nodes.find((node) => node.nodeId === nodeId);
  const authSigner = createSigner(readHex32(join(directory, "auth.key")));
  const cosigner = createSigner(readHex32(join(directory, "cosigner.key")));
  const otherSigner = nextSigners(directory);
  const own = { auth: authSigner, cosigner };
  if (line === undefined) refuseForeignKeys(newest.trustRoot, own);
  else assertKeys(line, own, otherSigner);
  const logSeed = readHex32(join(directory, "log.seed"));
  return {
    nodeId,
    clusterId: root.clusterId,
    raftId: raftIdOf(root.clusterId, nodeId, nodeCrypto.sha256),
    originFingerprint:
      line?.originFingerprint ?? originFingerprintOf(root.clusterId, cosigner.publicKey, nodeCrypto.sha256),
    authSigner,
    cosigner,
    logSignerOf: logSigners(logSeed),
    configured: { document, version: root.version, rootThk: pin },
    trustRoot: root,
    laterTrustRoots,
    otherSigner,
  };
}

/** The files without which there is no identity: those that cannot be used, a line each. */
export function identityFileFaults(directory: string): readonly string[] {
  const readers = {
    "auth.key": readHex32,
    "cosigner.key": readHex32,
    "log.seed": readHex32,
    "root-thk.txt": readHex32,
    "trust-root.txt": readOwn,
  };
  return Object.entries(readers).flatMap(([name, read]) => {
    try {
      read(join(directory, name));
      return [];
    } catch (error) {
      if (!(error instanceof IdentityError)) throw error;
      return [error.message];
    }
  });
}

/** Later versions are stored beside the pinned one, a file each. */
function laterDocuments(directory: string): readonly string[] {
  const versions = readdirSync(directory).flatMap((name) => {
    const [, version] = LATER_DOCUMENT.exec(name) ?? [];
    return version === undefined ? [] : [Number(version)];
  });
  return versions.toSorted((a, b) => a - b).map((version) => readOwn(join(directory, `trust-root-${version}.txt`)));
}

/** Keys that were generated for a rotation; looked up when a trust root names one, so that no restart is needed. */
function nextSigners(directory: string): (name: KeyName, publicKey: Uint8Array) => Signer | null {
  const held = new Map<string, Signer>();
  return (name, publicKey) => {
    const key = `${name} ${bytesToHex(publicKey)}`;
    const known = held.get(key);
    if (known !== undefined) return known;
    // After the rotation is settled, the new key has the file name of the old one.
    for (const file of [`${name}.next.key`, `${name}.key`]) {
      const path = join(directory, file);
      if (!existsSync(path)) continue;
      const signer = createSigner(readHex32(path));
      if (!equalBytes(signer.publicKey, publicKey)) continue;
      held.set(key, signer);
      return signer;
    }
    return null;
  };
}

function assertKeys(
  line: TrustRootNode,
  own: Readonly<Record<KeyName, Signer>>,
  otherSigner: (name: KeyName, publicKey: Uint8Array) => Signer | null,
): void {
  const named = { auth: line.authPublicKey, cosigner: line.cosignerVkey.publicKey };
  for (const name of ["auth", "cosigner"] as const) {
    const isHere = equalBytes(named[name], own[name].publicKey) || otherSigner(name, named[name]) !== null;
    if (!isHere) throw new IdentityError(`${name}.key is not the key the trust root gives this node`);
  }
}

/** A node that waits to be listed must not use keys that another node is listed with. */
function refuseForeignKeys({ nodes }: TrustRoot, own: Readonly<Record<KeyName, Signer>>): void {
  const owner = nodes.find(
    ({ cosignerVkey, authPublicKey }) =>
      equalBytes(cosignerVkey.publicKey, own.cosigner.publicKey) || equalBytes(authPublicKey, own.auth.publicKey),
  );
  if (owner !== undefined) throw new IdentityError(`the keys are those of node ${owner.nodeId}`);
}

function logSigners(logSeed: Uint8Array): (origin: OriginFingerprint) => Signer {
  const signers = new Map<string, Signer>();
  return (origin) => {
    const key = bytesToHex(origin);
    const known = signers.get(key);
    if (known !== undefined) return known;
    const signer = createSigner(logKeySeed(logSeed, origin, nodeCrypto.sha256));
    signers.set(key, signer);
    return signer;
  };
}

export function readHex32(path: string): Uint8Array {
  const text = readOwn(path).trimEnd();
  try {
    return hexToBytes(text, 32);
  } catch (cause) {
    throw new IdentityError(`${path} does not hold 64 hex digits`, { cause });
  }
}

/** Identity files are for their owner alone. */
function readOwn(path: string): string {
  try {
    if ((statSync(path).mode & 0o077) !== 0) throw new IdentityError(`${path} is readable by others; chmod 600 it`);
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof IdentityError) throw cause;
    throw new IdentityError(`cannot read ${path}`, { cause });
  }
}
