import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tmpdir } from "node:os";
import type { Maker, Target } from "./artefact.ts";
import { ReleaseError } from "./artefact.ts";
import type { Part } from "./contents.ts";
import { filesUnder, namesShown } from "./files.ts";
import { SIGNATURE_FILE, signSums } from "./signature.ts";
import { SPDX_FILE, spdxOf } from "./spdx.ts";
import { SUMS_FILE, sumsOf } from "./sums.ts";

/** What is to be made, and where it goes. */
export interface ReleaseOrder {
  readonly makers: readonly Maker[];
  readonly version: string;
  readonly sourceDateEpoch: number;
  /** Replaced as a whole, once everything is made. */
  readonly folder: string;
  /** Makes everything once more, elsewhere, and refuses what differs. */
  readonly isTwice: boolean;
  /** The OpenSSH key that signs the sums; null: nothing is signed. */
  readonly signingKey: string | null;
  /** Told of each maker when it is done. */
  readonly onMade: (name: string, files: readonly string[], milliseconds: number) => void;
}

/**
 * Makes a release: the artefacts, and their sums.
 * @returns its files
 * @throws ReleaseError an artefact cannot be made, or is another one the second time; the folder is as it was
 */
export async function makeRelease(order: ReleaseOrder): Promise<readonly string[]> {
  await assertReplaceable(order.folder);
  await mkdir(dirname(order.folder), { recursive: true });
  const draft = await mkdtemp(`${order.folder}.`);
  try {
    const files: string[] = [];
    const parts: Parts = new Map();
    for (const maker of order.makers) files.push(...(await makeOne(maker, order, { draft, files, parts })));
    await writeFile(join(draft, SPDX_FILE), await listOf(draft, files, parts, order));
    files.push(SPDX_FILE);
    await writeFile(join(draft, SUMS_FILE), await sumsOf(draft, files));
    if (order.signingKey !== null) await signSums(draft, order.signingKey);
    await chmod(draft, 0o755);
    await rm(order.folder, { recursive: true, force: true });
    await rename(draft, order.folder);
    return [...files, SUMS_FILE, ...(order.signingKey === null ? [] : [SIGNATURE_FILE])];
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** By file, or by folder. */
type Parts = Map<string, readonly Part[]>;

/** What has been made so far, and goes on being added to. */
interface Made {
  readonly draft: string;
  readonly files: readonly string[];
  readonly parts: Parts;
}

/** The list of what is in the files of a release; a folder counts as one artefact. */
async function listOf(draft: string, files: readonly string[], parts: Parts, order: ReleaseOrder): Promise<string> {
  const sums = await sumsOf(draft, files);
  const sumOf = new Map(sums.split("\n").map((line) => [line.slice(line.indexOf("  ") + 2), line.split(" ", 1)[0]]));
  const names = new Set(files.map((file) => file.split("/", 1)[0] ?? file));
  const strange = [...parts.keys()].filter((name) => !names.has(name));
  if (strange.length > 0) throw new ReleaseError(`parts of what was not made: ${strange.join(", ")}`);
  const artefacts = [...names].map((name) => ({
    name,
    sha256: sumOf.get(name) ?? null,
    parts: parts.get(name) ?? [],
  }));
  const digest = createHash("sha256").update(sums).digest("hex");
  return spdxOf({ version: order.version, sourceDateEpoch: order.sourceDateEpoch, digest, artefacts });
}

/** What is no release is not removed. */
async function assertReplaceable(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  const names = await filesUnder(folder);
  if (names.length === 0) return;
  if (!names.includes(SUMS_FILE)) {
    throw new ReleaseError(`${folder} is not empty and has no ${SUMS_FILE}: it is no release, and is left as it is`);
  }
  const lines = (await readFile(join(folder, SUMS_FILE), "utf8")).split("\n");
  const known = new Set([SUMS_FILE, SIGNATURE_FILE, ...lines.map((line) => line.slice(line.indexOf("  ") + 2))]);
  const strange = names.filter((name) => !known.has(name));
  if (strange.length > 0) {
    throw new ReleaseError(`${folder} has files of no release, and is left as it is: ${namesShown(strange)}`);
  }
}

async function makeOne(
  maker: Maker,
  order: ReleaseOrder,
  { draft, files: earlier, parts }: Made,
): Promise<readonly string[]> {
  const startedAt = performance.now();
  const work = await mkdtemp(join(tmpdir(), `release-${maker.name}-`));
  try {
    const files = await makeIn(join(work, "once"), maker, order, parts);
    if (order.isTwice) await assertSame(maker, order, join(work, "once"), join(work, "again", "elsewhere"));
    for (const file of files) {
      if (earlier.includes(file) || [SUMS_FILE, SIGNATURE_FILE, SPDX_FILE].includes(file))
        throw new ReleaseError(`${file} is made by two makers`);
      await cp(join(work, "once", file), join(draft, file), { recursive: true });
    }
    order.onMade(maker.name, files, performance.now() - startedAt);
    return files;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Runs a maker in a new folder, and holds what it says that it made against what is there. */
async function makeIn(folder: string, maker: Maker, order: ReleaseOrder, parts: Parts): Promise<readonly string[]> {
  const { version, sourceDateEpoch } = order;
  const hasParts: Target["hasParts"] = (file, more) => parts.set(file, [...(parts.get(file) ?? []), ...more]);
  await mkdir(folder, { recursive: true });
  const said = [...(await maker.make({ folder, version, sourceDateEpoch, hasParts }))].sort();
  const found = (await filesUnder(folder)).sort();
  if (said.length === 0) throw new ReleaseError(`${maker.name} made nothing`);
  if (said.join("\n") !== found.join("\n")) {
    throw new ReleaseError(`${maker.name} says that it made ${said.join(", ")}, and made ${found.join(", ")}`);
  }
  return said;
}

async function assertSame(maker: Maker, order: ReleaseOrder, once: string, again: string): Promise<void> {
  const files = await makeIn(again, maker, order, new Map());
  const [first, second] = [await sumsOf(once, await filesUnder(once)), await sumsOf(again, files)];
  if (first === second) return;
  const others = new Set(second.split("\n"));
  const differing = first.split("\n").filter((line) => !others.has(line));
  const names = namesShown(differing.map((line) => line.slice(line.indexOf("  ") + 2)));
  throw new ReleaseError(`${maker.name} made other bytes the second time: ${names || "another list of files"}`);
}
