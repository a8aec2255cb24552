export { canEnter, canReach, ownFolder, postgresUser } from "./os-user.ts";
export type { OsUser } from "./os-user.ts";
export { openPostgresInstallation } from "./postgres-installation.ts";
export type { InstallationOptions, PostgresInstallation } from "./postgres-installation.ts";
export { EMBEDDED_SETTINGS, EmbeddedPostgres } from "./postgres.ts";
export type { EmbeddedPostgresOptions, PostgresExit, StopMode } from "./postgres.ts";
export { OWNER_ROLE, READER_ROLE, ROLES_SQL } from "./postgres-roles.ts";
