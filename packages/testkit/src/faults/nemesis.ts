import type { FaultyCluster } from "./faulty-cluster.ts";

/** The nodes by their roles when the fault strikes. */
export interface Roles {
  readonly leader: string;
  readonly followers: readonly [string, string];
}

/** A fault that a running cluster can be given, and that it must get over by itself once it ends. */
export interface Nemesis {
  readonly name: string;
  /** Why it cannot be had on this machine; null: it can. */
  missing(cluster: FaultyCluster): string | null;
  /** Resolves when the fault is in force, to what ends it. */
  inject(cluster: FaultyCluster, roles: Roles): Promise<() => Promise<void>>;
}

/** The present leader and followers. */
export async function rolesOf(cluster: FaultyCluster): Promise<Roles> {
  const { id: leader } = await cluster.leader();
  const [first, second] = cluster.cluster.file.nodes.map(({ id }) => id).filter((id) => id !== leader);
  if (first === undefined || second === undefined) throw new Error("three nodes are expected");
  return { leader, followers: [first, second] };
}

/** For faults that every machine has. */
export function never(): null {
  return null;
}
