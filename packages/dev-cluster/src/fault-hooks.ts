import type { ProcessName } from "./embedded-node.ts";

export interface NetworkAddress {
  readonly host: string;
  readonly port: number;
}

/** What stands between the processes of a cluster and the machine they run on: for those who study faults. */
export interface FaultHooks {
  /** Where one node dials another, in place of where that one listens. Asked once for each pair, in each direction. */
  readonly dialledAddress?: (from: string, to: string, listening: NetworkAddress) => NetworkAddress;
  /** Added to the environment of a node's process. */
  readonly environment?: (nodeId: string, process: ProcessName) => Readonly<Record<string, string>>;
}
