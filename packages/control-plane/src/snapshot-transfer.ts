import type { Crypto } from "@event-anchoring/protocol";
import type { EntryId } from "raft-ts";
import type { Clock, Environment } from "./environment.ts";
import type { NodeIdentity } from "./identity.ts";
import type { PeerNetwork, UnaryAnswer, UnaryRequest } from "./transport/network-types.ts";

export class SnapshotExporter {
  constructor(_options: { url: string; clock: Clock }) {}
  async manifest(_request: UnaryRequest): Promise<UnaryAnswer> {
    return { status: 503, body: new Uint8Array() };
  }
  async chunk(_request: UnaryRequest): Promise<UnaryAnswer> {
    return { status: 503, body: new Uint8Array() };
  }
  async close(): Promise<void> {}
}

export async function installFromPeers(_options: {
  environment: Environment;
  identity: NodeIdentity;
  network: PeerNetwork;
  url: string;
  spoolDirectory: string;
  atLeast: EntryId;
  crypto: Crypto;
}): Promise<void> {
  throw new Error("not yet");
}
