/** Role of the control plane: owns the database and its tables. */
export const OWNER_ROLE = "anchoring_owner";

/** Role of the api process: the migrations let it read the state tables, and nothing else. */
export const READER_ROLE = "anchoring_reader";

/** SQL for a new server, one command a line: the two roles, without any right over the server itself. */
export const ROLES_SQL: readonly string[] = [OWNER_ROLE, READER_ROLE].map(
  (role) => `CREATE ROLE ${role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION;`,
);
