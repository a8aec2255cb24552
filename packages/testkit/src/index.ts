export { startTestPostgres } from "./test-postgres.ts";
export type { TestDatabase, TestPostgres, TestPostgresOptions } from "./test-postgres.ts";
export { BENCH_HELP, benchCommand } from "./bench/bench.ts";
export { trustRootsOf, verifySamples } from "./bench/verify-samples.ts";
export { LoadClient } from "./load-client.ts";
export type { LoadAnswer } from "./load-client.ts";
