import { createHash } from "node:crypto";
import {
  chmod,
  copyFile,
  lstat,
  lutimes,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  rmdir,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Target } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import { npmParts } from "../contents.ts";
import { filesUnder } from "../files.ts";
import { licencesOf } from "../npm/licences.ts";
import type { Library } from "../npm/bundle-code.ts";
import { run } from "../run.ts";

/** A Debian package that is to be made. */
export interface DebianOrder {
  /** Its folder in deploy/debian: `control` without the version, the maintainer's scripts. */
  readonly source: string;
  /** Writes what is installed into the root folder. @returns the libraries of others that are in it */
  readonly fill: (root: string) => Promise<readonly Library[]>;
}

const MAINTAINER_SCRIPTS = ["postinst", "prerm", "postrm"];
/** Debian has its text once for all packages. */
const APACHE = "Apache-2.0";
const EXECUTABLE = 0o755;
const PLAIN = 0o644;

/**
 * Makes a package with dpkg-deb. Every file has the time of the target, the modes are those of no umask, the owner is
 * root.
 * @returns its name in the folder of the target
 * @throws ReleaseError if dpkg-deb is not on this machine
 */
export async function packDebian({ source, fill }: DebianOrder, target: Target): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), "release-deb-"));
  try {
    const root = join(work, "root");
    await mkdir(join(root, "DEBIAN"), { recursive: true });
    const libraries = await fill(root);
    const control = await readFile(join(source, "control"), "utf8");
    const [, name = ""] = /^Package: (\S+)$/mu.exec(control) ?? [];
    await writeDocuments(join(root, "usr/share/doc", name), { name, control, libraries, target });
    await writeFile(join(root, "DEBIAN/control"), control.replace("\n", `\nVersion: ${target.version}\n`));
    for (const script of await scriptsIn(source)) await copyFile(join(source, script), join(root, "DEBIAN", script));
    await removeEmptyFolders(root);
    await writeFile(join(root, "DEBIAN/md5sums"), await md5Sums(root));
    await settle(root, target.sourceDateEpoch);
    const file = `${name}_${target.version}_all.deb`;
    // One thread: xz cuts its blocks by the number of processors.
    const options = ["--root-owner-group", "-Zxz", "--threads-max=1"];
    await run("dpkg-deb", [...options, "--build", root, join(target.folder, file)], {
      env: { SOURCE_DATE_EPOCH: String(target.sourceDateEpoch) },
    });
    target.hasParts(file, npmParts(libraries));
    return file;
  } finally {
    await rm(work, { recursive: true });
  }
}

async function scriptsIn(source: string): Promise<readonly string[]> {
  return (await readdir(source)).filter((name) => MAINTAINER_SCRIPTS.includes(name));
}

interface Documents {
  readonly name: string;
  readonly control: string;
  readonly libraries: readonly Library[];
  readonly target: Target;
}

/** What policy wants of every package: who may copy it, and what changed. */
async function writeDocuments(folder: string, { name, control, libraries, target }: Documents): Promise<void> {
  await mkdir(folder, { recursive: true });
  const notice = await readFile(join(CHECKOUT, "NOTICE"), "utf8");
  const copyright = `${notice.trim()}

On Debian systems, the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.

It is the licence of these libraries of others, too:

${libraries
  .filter(({ license }) => license === APACHE)
  .map(({ name: library, version }) => `${library} ${version}\n`)
  .join("")}
The other libraries have these licences:

${await licencesOf(libraries.filter(({ license }) => license !== APACHE))}`;
  await writeFile(join(folder, "copyright"), copyright);
  const [, maintainer = ""] = /^Maintainer: (.*)$/mu.exec(control) ?? [];
  const date = new Date(target.sourceDateEpoch * 1000).toUTCString().replace("GMT", "+0000");
  const changes = `${name} (${target.version}) unstable; urgency=medium

  * CHANGELOG.md of the repository says what is new.

 -- ${maintainer}  ${date}
`;
  await writeFile(join(folder, "changelog.gz"), gzipSync(changes, { level: 9 }));
}

/** As `dpkg --verify` reads them: what has changed on a disk, not who has changed it. */
async function md5Sums(root: string): Promise<string> {
  const files = (await filesUnder(root)).filter((file) => !file.startsWith("DEBIAN/")).sort();
  const lines: string[] = [];
  for (const file of files) {
    if ((await lstat(join(root, file))).isSymbolicLink()) continue;
    const sum = createHash("md5")
      .update(await readFile(join(root, file)))
      .digest("hex");
    lines.push(`${sum}  ${file}\n`);
  }
  return lines.join("");
}

/** @returns whether nothing is left of the folder */
async function removeEmptyFolders(folder: string): Promise<boolean> {
  let left = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const isGone = entry.isDirectory() && (await removeEmptyFolders(join(folder, entry.name)));
    if (!isGone) left += 1;
  }
  if (left === 0) await rmdir(folder);
  return left === 0;
}

/** Gives every file its mode and time; folders come last, because writing into them changes theirs. */
async function settle(folder: string, seconds: number): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      await settle(path, seconds);
      continue;
    }
    if (entry.isFile()) await chmod(path, (await isProgram(path)) ? EXECUTABLE : PLAIN);
    await lutimes(path, seconds, seconds);
  }
  await chmod(folder, EXECUTABLE);
  await lutimes(folder, seconds, seconds);
}

/** What begins with `#!`. */
async function isProgram(path: string): Promise<boolean> {
  return (await readFile(path)).subarray(0, 2).toString("latin1") === "#!";
}
