/** The pin, on which every other part of a verdict depends. */
import { bytesToHex } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";

/** What something was judged by: trust roots that go together, and whether anybody says whose they are. */
export interface JudgedBy {
  readonly chain: TrustRootChain;
  /** Null: there is none, and so nothing that is judged by the chain is proved. */
  readonly pin: object | null;
}

/** RootTHK of the first version held: what is pinned, or has to be compared. */
export function firstRootThk({ chain }: JudgedBy): string {
  return bytesToHex((chain.versions[0] ?? chain.newest).rootThk);
}

/** What to compare, and with what, before anything that was judged here is believed. */
export function notPinnedText(judgedBy: JudgedBy, nextStep: string): string {
  const { trustRoot } = judgedBy.chain.versions[0] ?? judgedBy.chain.newest;
  return (
    `compare the RootTHK of trust root ${trustRoot.version}, ${firstRootThk(judgedBy)}, with the one that the ` +
    `operators of ${trustRoot.clusterName} have published or told you, by another way than these files; then ` +
    `${nextStep}.`
  );
}
