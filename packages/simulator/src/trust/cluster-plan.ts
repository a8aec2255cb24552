/** How a cluster begins, and how its trust roots change it. */
export interface ClusterPlan {
  /** Active nodes of version 1. */
  readonly founders: number;
  /** Machines of the life. */
  readonly nodes: number;
  /** How many cosign; absent: a majority. */
  readonly quorum?: number;
  /** How many witnesses version 1 lists; absent: none. */
  readonly witnesses?: number;
  /** Version 3 removes the nodes that version 2 added. */
  readonly isGivenUp: boolean;
}

/** Clusters that grow, by name. */
export const GROWTHS = {
  "1-3": { founders: 1, nodes: 3, isGivenUp: false },
  "3-5": { founders: 3, nodes: 5, isGivenUp: false },
  /** The newcomers never come, and without them too few are left to cosign. */
  "3-5-3": { founders: 3, nodes: 5, isGivenUp: true },
} as const satisfies Readonly<Record<string, ClusterPlan>>;

export type GrowthName = keyof typeof GROWTHS;

export const GROWTH_NAMES = Object.keys(GROWTHS) as readonly GrowthName[];

export const isGrowing = ({ founders, nodes }: ClusterPlan): boolean => founders < nodes;

/** The last version of the plan that changes the group. */
export const lastVersionOf = ({ isGivenUp }: ClusterPlan): number => (isGivenUp ? 3 : 2);
