export { GATES } from "./gates/all-gates.ts";
export { gatesCommand } from "./gates-command.ts";
export type { Batch, Gate } from "./gates/gate.ts";
export { ResultsError, appendResult, readResults } from "./results.ts";
export type { BatchLine, MendedLine } from "./results.ts";
export { runBatch } from "./run-batch.ts";
export { sourcesHash } from "./sources-hash.ts";
export { GateRests, leastRun, nextSeed } from "./totals.ts";
export { tableOf, withTable } from "./table.ts";
