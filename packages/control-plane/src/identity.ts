import { readFileSync, statSync } from "node:fs";
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
  raftIdOf,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { RaftId } from "raft-ts";

/** A file of the node's identity is missing, readable by others, or does not fit the rest. */
export class IdentityError extends Error {
  override readonly name = "IdentityError";
}

/** What makes a node this node. Secrets live inside the signers and print as nothing. */
export interface NodeIdentity {
  readonly nodeId: string;
  readonly clusterId: Uint8Array;
  readonly raftId: RaftId;
  readonly originFingerprint: OriginFingerprint;
  readonly authSigner: Signer;
  readonly cosigner: Signer;
  /** The signer of an origin's log line; every node of the cluster has it. */
  readonly logSignerOf: (origin: OriginFingerprint) => Signer;
  /** The trust root this node was set up with, checked against its pin. */
  readonly configured: { readonly document: string; readonly version: number; readonly rootThk: Uint8Array };
  readonly trustRoot: TrustRoot;
}

/** Reads and checks the identity files of `directory`. @throws IdentityError */
export function loadIdentity(directory: string, nodeId: string): NodeIdentity {
  const document = readOwn(join(directory, "trust-root.txt"));
  const pin = readHex32(join(directory, "root-thk.txt"));
  const verified = verifyTrustRootChain({ documents: [document], pinnedRootThk: pin }, nodeCrypto);
  if (verified.result === "refused") {
    throw new IdentityError(`trust-root.txt is refused: ${verified.code}: ${verified.detail}`);
  }
  const root = verified.chain.newest.trustRoot;
  const line = root.nodes.find((node) => node.nodeId === nodeId);
  if (line === undefined) throw new IdentityError(`the trust root lists no node ${nodeId}`);
  const authSigner = createSigner(readHex32(join(directory, "auth.key")));
  const cosigner = createSigner(readHex32(join(directory, "cosigner.key")));
  assertKeys(line, authSigner, cosigner);
  const logSeed = readHex32(join(directory, "log.seed"));
  return {
    nodeId,
    clusterId: root.clusterId,
    raftId: raftIdOf(root.clusterId, nodeId, nodeCrypto.sha256),
    originFingerprint: line.originFingerprint,
    authSigner,
    cosigner,
    logSignerOf: logSigners(logSeed),
    configured: { document, version: root.version, rootThk: pin },
    trustRoot: root,
  };
}

function assertKeys(line: TrustRootNode, authSigner: Signer, cosigner: Signer): void {
  if (!equalBytes(line.authPublicKey, authSigner.publicKey)) {
    throw new IdentityError("auth.key is not the key the trust root gives this node");
  }
  if (!equalBytes(line.cosignerVkey.publicKey, cosigner.publicKey)) {
    throw new IdentityError("cosigner.key is not the key the trust root gives this node");
  }
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

function readHex32(path: string): Uint8Array {
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
