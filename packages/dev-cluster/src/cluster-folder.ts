import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, realpathSync, rmSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { canEnter, ownFolder, postgresUser } from "./os-user.ts";
import type { OsUser } from "./os-user.ts";

/** Where everything of one embedded cluster is. */
export interface ClusterFolder {
  /** `.anchoring/`: ca/, root-keys/, operators/, nodes/<id>/, cluster.json, supervisor.json. */
  readonly root: string;
  /** Database directories, one per node, and what Postgres needs to run. Outside `root` only if it must be. */
  readonly postgresRoot: string;
  readonly isPostgresElsewhere: boolean;
  /** Unix sockets; short, because a socket path is limited to 107 bytes. */
  readonly socketRoot: string;
  /** Runs Postgres; null: the caller. */
  readonly postgresUser: OsUser | null;
}

/** Any of these shows that the folder is ours. */
const MARKS = ["supervisor.json", "cluster.json", "trust-root.txt"];
/** All that is ever written into the folder itself. */
const OWN_NAMES = [...MARKS, "root-thk.txt", "ca", "root-keys", "operators", "nodes", "postgres"];

/** Later versions, as `anchorctl root submit` keeps them. */
const LATER_TRUST_ROOT = /^trust-root-[0-9]+\.txt$/u;

/** Makes or opens the folder of a cluster; never takes a folder that somebody else filled. */
export function openClusterFolder(path: string): ClusterFolder {
  const wanted = resolve(path);
  assertOurs(wanted);
  mkdirSync(wanted, { recursive: true, mode: 0o700 });
  const root = realpathSync(wanted);
  const name = `anchoring-${createHash("sha256").update(root).digest("hex").slice(0, 8)}`;
  const inside = join(root, "postgres");
  const outside = join("/var/tmp", name);
  const user = postgresUser(join(inside, "n1"), join(outside, "n1"));
  const socketRoot = join(tmpdir(), name);
  ownFolder(socketRoot, 0o700, null);
  // Root runs Postgres under another account, which passes through these folders and sees nothing else in them.
  const passableMode = user === null ? 0o700 : 0o711;
  chmodSync(socketRoot, passableMode);
  if (canPass(root, passableMode, user)) {
    ownFolder(inside, passableMode, null);
    return { root, postgresRoot: inside, isPostgresElsewhere: false, socketRoot, postgresUser: user };
  }
  ownFolder(outside, passableMode, null);
  chmodSync(outside, passableMode);
  return { root, postgresRoot: outside, isPostgresElsewhere: true, socketRoot, postgresUser: user };
}

/** Opens the folder itself for the account and asks whether that is enough: folders above it may be closed. */
function canPass(root: string, mode: number, user: OsUser | null): boolean {
  chmodSync(root, mode);
  return user === null || canEnter(user, root);
}

/**
 * Deletes the cluster: all that this program writes, and nothing else. No process of it may run.
 * @param options.isLockKept whether `supervisor.json` stays, for a caller that goes on to make a new cluster
 */
export function eraseClusterFolder(folder: ClusterFolder, options: { readonly isLockKept: boolean }): void {
  for (const name of OWN_NAMES) {
    if (options.isLockKept && name === "supervisor.json") continue;
    rmSync(join(folder.root, name), { recursive: true, force: true });
  }
  for (const name of readdirSync(folder.root).filter((each) => LATER_TRUST_ROOT.test(each))) {
    rmSync(join(folder.root, name));
  }
  for (const path of [folder.postgresRoot, folder.socketRoot]) rmSync(path, { recursive: true, force: true });
  if (!options.isLockKept && readdirSync(folder.root).length === 0) rmdirSync(folder.root);
}

/** A start that was cut short leaves own names only; whatever else is there belongs to somebody. */
function assertOurs(path: string): void {
  if (!existsSync(path)) return;
  const names = readdirSync(path);
  if (names.some((name) => MARKS.includes(name)) || names.every((name) => OWN_NAMES.includes(name))) return;
  throw new Error(`${path} holds other files; choose an empty folder or one that this command made`);
}
