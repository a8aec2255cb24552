import { spawnSync } from "node:child_process";
import { chownSync, lstatSync, mkdirSync, readFileSync } from "node:fs";
import { hasCode } from "@event-anchoring/provision";

/** The unprivileged account that runs Postgres when the caller is root. */
export interface OsUser {
  readonly uid: number;
  readonly gid: number;
}

/** Accounts tried in this order; one of them exists on every system that Postgres binaries are built for. */
const ACCOUNT_NAMES = ["postgres", "nobody"];

/**
 * Who must run Postgres: null for an ordinary user (themselves), an unprivileged account for root, because
 * Postgres refuses to run as root. `earlier` names folders of an earlier run, whose owner is kept.
 */
export function postgresUser(...earlier: readonly string[]): OsUser | null {
  if (process.getuid?.() !== 0) return null;
  for (const path of earlier) {
    const owner = lstatSync(path, { throwIfNoEntry: false });
    if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  const accounts = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  for (const name of ACCOUNT_NAMES) {
    const [, , uid, gid] = accounts.find(([account]) => account === name) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(`Postgres refuses to run as root, and none of the accounts ${ACCOUNT_NAMES.join(", ")} exists`);
}

/** Whether this account can pass through (and read) a path: asked of the system, as ACLs and mounts count too. */
export function canReach(user: OsUser | null, path: string): boolean {
  const ids = user === null ? {} : { uid: user.uid, gid: user.gid };
  return spawnSync("/bin/sh", ["-c", 'test -r "$1" && test -x "$1"', "sh", path], { cwd: "/", ...ids }).status === 0;
}

/** Whether this account can pass through a folder, also one that it may not list. */
export function canEnter(user: OsUser | null, folder: string): boolean {
  const ids = user === null ? {} : { uid: user.uid, gid: user.gid };
  return spawnSync("/bin/sh", ["-c", 'cd "$1"', "sh", folder], { cwd: "/", ...ids }).status === 0;
}

/**
 * Makes a folder for an account (null: for ourselves), or takes an existing one if it is a real folder and belongs to
 * that account or to us: somebody else may have put a folder or a link of that name in a shared place.
 */
export function ownFolder(path: string, mode: number, user: OsUser | null): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
  const found = lstatSync(path);
  const self = process.getuid?.() ?? 0;
  const expected = user?.uid ?? self;
  if (!found.isDirectory()) throw new Error(`${path} is not a folder`);
  if (found.uid === expected) return;
  if (user === null || found.uid !== self) throw new Error(`${path} belongs to another user (uid ${found.uid})`);
  chownSync(path, user.uid, user.gid);
}
