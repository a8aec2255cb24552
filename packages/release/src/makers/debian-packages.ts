import { copyFile, mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Maker } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import type { Library } from "../npm/bundle-code.ts";
import { writeNodeTree } from "../debian/node-tree.ts";
import { packDebian } from "../debian/package.ts";
import { bundleAnchorctl } from "./npm-anchorctl.ts";

const DEBIAN = join(CHECKOUT, "deploy/debian");
const UNITS = join(CHECKOUT, "deploy/systemd");

/** Where the program is, in the place of what an operator has put there by hand. */
const TREE = "usr/lib/event-anchoring";
const BY_HAND = "/opt/event-anchoring/current/";

/** Writes `anchorctl`, its manual page, and the name by which a shell finds it. */
async function fillAnchorctl(root: string): Promise<readonly Library[]> {
  const program = join(root, "usr/lib/anchorctl/anchorctl.js");
  const link = join(root, "usr/bin/anchorctl");
  const manual = join(root, "usr/share/man/man1/anchorctl.1.gz");
  for (const file of [program, link, manual]) await mkdir(dirname(file), { recursive: true });
  const libraries = await bundleAnchorctl(program);
  // Node takes a file for an ES module if the nearest package.json says so.
  await writeFile(join(dirname(program), "package.json"), '{"type":"module"}\n');
  await symlink("../lib/anchorctl/anchorctl.js", link);
  await writeFile(manual, gzipSync(await readFile(join(DEBIAN, "anchorctl/anchorctl.1")), { level: 9 }));
  return libraries;
}

/** Writes a node: the program, its units, and as examples what goes elsewhere by hand. */
async function fillNode(root: string): Promise<readonly Library[]> {
  const units = join(root, "lib/systemd/system");
  const examples = join(root, "usr/share/doc/event-anchoring-node/examples");
  for (const folder of [units, examples]) await mkdir(folder, { recursive: true });
  const names = await readdir(UNITS, { withFileTypes: true });
  for (const { name } of names.filter((entry) => entry.isFile())) {
    const isUnit = /\.(service|timer)$/u.test(name);
    const text = await readFile(join(UNITS, name), "utf8");
    await writeFile(join(isUnit ? units : examples, name), text.replaceAll(BY_HAND, `/${TREE}/`));
  }
  const restart = "postgresql@18-anchoring.service.d/restart.conf";
  await mkdir(join(units, dirname(restart)));
  await copyFile(join(UNITS, restart), join(units, restart));
  return writeNodeTree(join(root, TREE));
}

/** Packages of Debian: a node with its units, and the command line. */
export const debianPackages: Maker = {
  name: "deb",
  make: async (target) => [
    await packDebian({ source: join(DEBIAN, "anchorctl"), fill: fillAnchorctl }, target),
    await packDebian({ source: join(DEBIAN, "node"), fill: fillNode }, target),
  ],
};
