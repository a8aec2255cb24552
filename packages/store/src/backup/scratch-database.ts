import { randomBytes } from "node:crypto";
import { Connection } from "../postgres/connection.ts";

const NAME_BYTES = 6;

/**
 * Makes a database with a name that nobody has, and drops it when the work is done, whatever has become of it. Other
 * databases of the server are not touched; one that a killed process has left is called `anchoring_drill_…`.
 * @param serverUrl any database of a server, as a role that may create databases
 * @param work gets the address of the new database, in which the same role owns everything
 * @throws StoreError: the server cannot be reached, or the role may not create databases; whatever the work throws
 */
export async function withScratchDatabase<Result>(
  serverUrl: string,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  const name = `anchoring_drill_${randomBytes(NAME_BYTES).toString("hex")}`;
  const server = await Connection.open({ url: serverUrl, name: "event-anchoring drill" });
  try {
    await server.write({
      text: `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'`,
    });
    try {
      return await work(withDatabase(serverUrl, name));
    } finally {
      await server.write({ text: `DROP DATABASE ${name} WITH (FORCE)` });
    }
  } finally {
    await server.close();
  }
}

/** The same server and role, another database. */
function withDatabase(url: string, name: string): string {
  const rest = /^(?<server>postgres(?:ql)?:\/\/[^/?]*)(?:\/[^?]*)?(?<options>\?.*)?$/u.exec(url)?.groups;
  if (rest === undefined) throw new RangeError(`not the address of a database: ${url.slice(0, 12)}…`);
  return `${rest["server"] ?? ""}/${name}${rest["options"] ?? ""}`;
}
