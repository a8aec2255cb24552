export { startTestPostgres } from "./test-postgres.ts";
export type { TestDatabase, TestPostgres, TestPostgresOptions } from "./test-postgres.ts";
