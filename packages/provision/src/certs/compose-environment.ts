/** The content of `.env` for docker compose: where the cluster's files are, and who owns them. */
import { readFile } from "node:fs/promises";
import { fileExists, writePrivateFile } from "../files.ts";
import { CertsUsageError, shortPath } from "./certs-arguments.ts";

/** The containers' account if root makes the files: not an account of any common system. */
const UID_DEFAULT = 10_001;

/**
 * Accounts of Postgres in its images (Debian's and Alpine's). Postgres lets its superuser in by the number of an
 * account: a process of this number in another container of the node would be taken for it.
 */
const UIDS_OF_POSTGRES: readonly number[] = [999, 70];

/** Whom the containers run as. */
export interface ContainerAccount {
  readonly uid: number;
  readonly gid: number;
}

/** The containers run as the owner of the files, and never as root. */
export function accountOf(given: string | undefined): ContainerAccount {
  const own = process.getuid?.() ?? 0;
  if (own !== 0) {
    if (given !== undefined) throw new CertsUsageError("only root may give the files to another account (--uid)");
    return notOfPostgres({ uid: own, gid: process.getgid?.() ?? own });
  }
  const uid = given === undefined ? UID_DEFAULT : Number(given);
  if (!Number.isInteger(uid) || uid < 1) throw new CertsUsageError(`--uid is the number of an account, not: ${given}`);
  return notOfPostgres({ uid, gid: uid });
}

function notOfPostgres(account: ContainerAccount): ContainerAccount {
  if (!UIDS_OF_POSTGRES.includes(account.uid)) return account;
  const advice = "hold the ceremony as another account, or as root with --uid";
  throw new CertsUsageError(`account ${account.uid} is that of Postgres in its container: ${advice}`);
}

/** Replaces what is ours in the file, and leaves the rest. */
export async function writeEnvironment(
  { envFile, outDir, uid, gid }: ContainerAccount & { readonly envFile: string; readonly outDir: string },
  workingDir: string,
): Promise<void> {
  const folder = shortPath(outDir, workingDir);
  const own = {
    ANCHORING_UID: String(uid),
    ANCHORING_GID: String(gid),
    ANCHORING_DIR: folder.startsWith("/") ? folder : `./${folder}`,
  };
  const present = (await fileExists(envFile)) ? (await readFile(envFile, "utf8")).split("\n") : [];
  const kept = present.filter((line) => line !== "" && !Object.keys(own).some((name) => line.startsWith(`${name}=`)));
  const lines = [...kept, ...Object.entries(own).map(([name, value]) => `${name}=${value}`), ""];
  await writePrivateFile(envFile, lines.join("\n"));
}
