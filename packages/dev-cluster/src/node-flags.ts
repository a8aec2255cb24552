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
export const NODE_FLAGS = {
  api: ["--max-semi-space-size=64", "--heap-growing-percent=40"],
  "control-plane": ["--max-semi-space-size=24", "--heap-growing-percent=40"],
} as const;

/**
 * How glibc keeps freed memory: in an arena for each of some threads, of which two are enough here; and, once something
 * as large was freed, what is smaller than that inside of the heap, up to 32 MiB. With a fixed limit, what is larger
 * goes back to the system as it is freed: a node that had given a state of 19,000 leaves, in chunks of 1 MiB, to a new
 * one held 291 MB instead of 305.
 */
export const MALLOC_ENVIRONMENT = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "262144" } as const;
