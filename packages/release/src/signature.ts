import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./run.ts";
import { SUMS_FILE } from "./sums.ts";

/** OpenSSH's signature over the sums (PROTOCOL.sshsig of OpenSSH), as `ssh-keygen -Y verify` reads it. */
export const SIGNATURE_FILE = `${SUMS_FILE}.sig`;
/** A signature that was made for something else does not pass for one of a release. */
const NAMESPACE = "event-anchoring-release";

/**
 * Signs the sums of a release.
 * @param folder of the release
 * @param key an OpenSSH private key, or a public one whose private key an agent holds
 * @throws ReleaseError if `ssh-keygen` cannot sign with it
 */
export async function signSums(folder: string, key: string): Promise<void> {
  // ssh-keygen asks before it overwrites, and writes beside what it signs.
  const work = await mkdtemp(join(tmpdir(), "release-signature-"));
  try {
    await copyFile(join(folder, SUMS_FILE), join(work, SUMS_FILE));
    await run("ssh-keygen", ["-Y", "sign", "-q", "-f", key, "-n", NAMESPACE, join(work, SUMS_FILE)]);
    await copyFile(join(work, SIGNATURE_FILE), join(folder, SIGNATURE_FILE));
  } finally {
    await rm(work, { recursive: true });
  }
}
