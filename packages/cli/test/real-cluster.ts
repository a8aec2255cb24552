/** What tests of a real cluster need besides it: a node that can lie, and notes that nobody made. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  cosignatureLine,
  cosignatureMessage,
  formatCheckpoint,
  formatNote,
  hexToBytes,
  logKeySeed,
  noteMessage,
  noteSignatureLine,
  parseCheckpoint,
  parseNote,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import { request } from "undici";

const { sha256 } = nodeCrypto;

export interface Replied {
  readonly status: number;
  readonly body: string;
}

/** Stands before a node and hands out what it is told to; everything else is the node's. */
export class LyingNode {
  /** Makes another answer to a request target; null: the node's own. */
  lie: (target: string) => Replied | null = () => null;
  readonly #server: Server;

  private constructor(apiUrl: string) {
    this.#server = createServer((incoming, response) => {
      void this.#answer(apiUrl, incoming.url ?? "", incoming.headers.authorization ?? "").then(({ status, body }) => {
        response.writeHead(status, { "content-type": "application/json" }).end(body);
      });
    });
  }

  /** @param apiUrl of the node behind it; only GET is passed on */
  static async before(apiUrl: string): Promise<LyingNode> {
    const node = new LyingNode(apiUrl);
    await new Promise<void>((resolve) => node.#server.listen(0, "127.0.0.1", resolve));
    return node;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(apiUrl: string, target: string, authorization: string): Promise<Replied> {
    const lie = this.lie(target);
    if (lie !== null) return lie;
    const { statusCode, body } = await request(apiUrl + target, { headers: { authorization } });
    return { status: statusCode, body: await body.text() };
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** 32 bytes, which the file has as hex digits. */
const seedOf = (root: string, nodeId: string, name: string): Uint8Array =>
  hexToBytes(readFileSync(join(root, "nodes", nodeId, "identity", name), "latin1").trim(), 32);

/**
 * Another tree of the same size, signed with the keys of the cluster's own nodes: what a quorum of nodes can do that
 * have been taken over.
 * @param note a checkpoint of the cluster
 */
export function anotherTree(root: string, note: string, originFingerprint: string, nodeIds: readonly string[]): string {
  const checkpoint = parseCheckpoint(parseNote(note).text);
  const text = formatCheckpoint({ ...checkpoint, rootHash: new Uint8Array(32).fill(7) });
  const origin = toOriginFingerprint(hexToBytes(originFingerprint, 32));
  const log = createSigner(logKeySeed(seedOf(root, "n1", "log.seed"), origin, sha256));
  const timeS = Math.floor(Date.now() / 1000);
  const [clusterName = ""] = checkpoint.origin.split("/origin/");
  const lines = nodeIds.map((nodeId) => {
    const signer = createSigner(seedOf(root, nodeId, "cosigner.key"));
    const signature = signer.sign(cosignatureMessage(timeS, text));
    return cosignatureLine(
      { name: `${clusterName}/node/${nodeId}`, publicKey: signer.publicKey, timeS, signature },
      sha256,
    );
  });
  const label = { name: checkpoint.origin, publicKey: log.publicKey, signature: log.sign(noteMessage(text)) };
  return formatNote(text, [noteSignatureLine(label, sha256), ...lines]);
}
