/** Flags of Node, for each process of a node. */
export type NodeFlags = Readonly<Record<"api" | "control-plane", readonly string[]>>;

/**
 * How Node is started for each process of a node; deploy/ starts them alike, which a test compares. All was measured on
 * 2 vCPU with writes of 500 anchors, pairs in turns.
 *
 * - Room for short-lived objects (MiB). With Node's 16, the garbage of a few batches outlives its collection and is
 *   copied: an api process then takes 167 µs of processor time for an anchor, with 64 only 65 µs; with 32 it takes a
 *   quarter more than with 64. A control plane takes no more with 24 than with 64.
 * - The old space may grow by 40 % before it is collected, where Node lets it grow up to fourfold. With both, a control
 *   plane holds 300 MB instead of 480 and an api process 267 instead of 318, at 0.96 of the processor time.
 */
export const NODE_FLAGS: NodeFlags = {
  api: ["--max-semi-space-size=64", "--heap-growing-percent=40"],
  "control-plane": ["--max-semi-space-size=24", "--heap-growing-percent=40"],
};

/**
 * How glibc keeps freed memory.
 *
 * - In an arena for each of some threads; two are enough here.
 * - What is smaller than a limit, it takes from such an arena and keeps there; what is larger goes back to the system
 *   as it is freed. By itself the limit rises, up to 32 MiB, with what is freed. A fixed one lets chunks of a state,
 *   of 1 MiB, go back: a node that had given 19,000 leaves to a new one held 291 MB instead of 305, in one run of each.
 */
export const MALLOC_ENVIRONMENT = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "262144" } as const;
