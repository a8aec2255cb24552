import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { canEnter, ownFolder, postgresUser } from "./os-user.ts";
import type { OsUser } from "./os-user.ts";

/** Where everything of one embedded cluster is. */
export interface DataFolder {
  /** `.anchoring/`: ca/, root-keys/, nodes/<id>/, cluster.json, supervisor.json. */
  readonly root: string;
  /** Database directories, one per node, and what Postgres needs to run. Outside `root` only if it must be. */
  readonly postgresRoot: string;
  readonly isPostgresElsewhere: boolean;
  /** Unix sockets; short, because a socket path is limited to 107 bytes. */
  readonly socketRoot: string;
  /** Runs Postgres; null: the caller. */
  readonly postgresUser: OsUser | null;
}

/** Names of which one is enough to take a folder for a data folder of ours. */
const OWN_NAMES = ["supervisor.json", "cluster.json", "trust-root.txt", "postgres"];

/** Makes or opens the data folder; never takes a folder that somebody else filled. */
export function openDataFolder(path: string): DataFolder {
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

/** Deletes all that the folder holds. No process of the cluster may run. @throws if the folder is not ours */
export function eraseDataFolder(folder: DataFolder): void {
  assertOurs(folder.root);
  for (const name of readdirSync(folder.root)) {
    if (name !== "supervisor.json") rmSync(join(folder.root, name), { recursive: true, force: true });
  }
  for (const path of [folder.postgresRoot, folder.socketRoot]) rmSync(path, { recursive: true, force: true });
}

function assertOurs(path: string): void {
  if (!existsSync(path)) return;
  const names = readdirSync(path);
  if (names.length === 0 || names.some((name) => OWN_NAMES.includes(name))) return;
  throw new Error(`${path} holds other files; choose an empty folder or one that this command made`);
}
