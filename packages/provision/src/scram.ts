/** What Postgres keeps of a password: RFC 5802, RFC 7677, and the text form of pg_authid.rolpassword. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

const ITERATIONS = 4096;

/**
 * `SCRAM-SHA-256$4096:<salt>$<StoredKey>:<ServerKey>`. A role that is made with it never has its password written down
 * where the role is made.
 * @param password printable ASCII: other passwords would need SASLprep
 */
export function scramVerifier(password: string, salt: Uint8Array = randomBytes(16)): string {
  if (!/^[\x21-\x7e]+$/.test(password)) throw new RangeError("a password of printable ASCII is expected");
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, "sha256");
  const keyed = (label: string): Buffer => createHmac("sha256", salted).update(label).digest();
  const storedKey = createHash("sha256").update(keyed("Client Key")).digest("base64");
  const serverKey = keyed("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${Buffer.from(salt).toString("base64")}$${storedKey}:${serverKey}`;
}
