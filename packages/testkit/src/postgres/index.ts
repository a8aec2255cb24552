export { SqlSession } from "./sql-session.ts";
export { startTestPostgres } from "./test-postgres.ts";
export type { TestDatabase, TestPostgres } from "./test-postgres.ts";
