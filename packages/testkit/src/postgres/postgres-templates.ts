import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DATABASE, EmbeddedPostgres, OWNER_ROLE, ROLES_SQL, ownFolder } from "@event-anchoring/dev-cluster";
import type { OsUser, PostgresInstallation } from "@event-anchoring/dev-cluster";

/** Names a folder for the length of a run of tests; unset: each server makes its files anew. */
const FOLDER_VARIABLE = "ANCHORING_TEST_TEMPLATES";

/** Nodes of a cluster differ in the name of their system, so there is a template for each. */
export const TEMPLATE_NAMES = ["n1", "n2", "n3"] as const;
export type TemplateName = (typeof TEMPLATE_NAMES)[number];

export interface TemplateUse {
  readonly installation: PostgresInstallation;
  readonly user: OsUser | null;
}

/**
 * Fills a database folder as the first start of an `EmbeddedPostgres` would (roles, and the database of a node), for a
 * fifth of the time: the first use in a run of tests makes the template, the later ones copy it. Does nothing where no
 * folder for templates is named.
 */
export async function fillFromTemplate(name: TemplateName, databaseDir: string, use: TemplateUse): Promise<void> {
  const folder = process.env[FOLDER_VARIABLE];
  if (folder === undefined) return;
  const template = join(folder, name);
  if (!existsSync(template)) await makeTemplate(template, use);
  // Owners and modes as they are: Postgres looks at both.
  const { status, stderr } = spawnSync("cp", ["-pR", template, databaseDir], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${template} was not copied: ${stderr}`);
}

/** Made beside its place and renamed: another process may be making the same. */
async function makeTemplate(template: string, { installation, user }: TemplateUse): Promise<void> {
  const own = mkdtempSync(`${template}-`);
  ownFolder(own, 0o711, user);
  const dir = join(own, "database");
  const server = new EmbeddedPostgres({
    dir,
    socketDir: join(own, "socket"),
    port: 5432,
    installation,
    user,
    bootstrapSql: [...ROLES_SQL, `CREATE DATABASE ${DATABASE} OWNER ${OWNER_ROLE};`],
    // Copies are of no use after a loss of power, and neither is what they are made from.
    initdbFlags: ["--no-sync"],
  });
  try {
    await server.initialise();
    renameSync(dir, template);
  } catch (error) {
    if (!existsSync(template)) throw error;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}
