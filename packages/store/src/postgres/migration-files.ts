import { readFileSync, readdirSync } from "node:fs";

const SHIPPED = new URL("../../migrations/", import.meta.url);
const FILE_NAME = /^\d{6}_[a-z0-9_]+\.sql$/;

/** The numbered `.sql` files of a folder, in order; without one, those of this package. */
export function readMigrationFiles(directory?: string): readonly { readonly name: string; readonly sql: string }[] {
  const names = readdirSync(directory ?? SHIPPED).filter((name) => FILE_NAME.test(name));
  names.sort();
  return names.map((name) => {
    const file = directory === undefined ? new URL(name, SHIPPED) : `${directory}/${name}`;
    return { name, sql: readFileSync(file, "utf8") };
  });
}
