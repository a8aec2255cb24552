#!/usr/bin/env node
// The images of others that this project starts from, by their content.
//
//   node deploy/images.js            says what is named, and by which digest; ends with 1 if one has none and no reason
//   node deploy/images.js renew      asks the registries what the tags mean today, and writes the digests
//
// A tag can be moved, a digest cannot. Every file that names an image is found: docker-compose.yml, and all below
// deploy/. What was written is tried (npm run test:compose) and committed. `renew` takes Docker with buildx, which asks
// for each image by its tag.
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

// `image: <name>:<tag>`, `NODE_IMAGE=<name>:<tag>`; a digest behind it, or none. What is built here is nobody else's.
const NAMED =
  /(?<before>image: |NODE_IMAGE=)(?<tag>(?!event-anchoring:)[a-z0-9./-]+:[\w.-]+)(?<digest>@sha256:[0-9a-f]{64})?/gu;
const WITHOUT_DIGEST = "deploy/images-without-digest.txt";

const [command = "check", folder = "."] = process.argv.slice(2);
const read = (name) => readFileSync(join(resolve(folder), name), "utf8");

/** Files that name an image of others. Links lead to files of their own, hidden folders are an operator's. */
function files() {
  const below = readdirSync(join(resolve(folder), "deploy"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(resolve(folder), join(entry.parentPath, entry.name)));
  const own = ["docker-compose.yml", ...below.filter((name) => !/(^|\/)\./u.test(name))];
  return own.filter((name) => read(name).search(NAMED) >= 0);
}

/** Every image by its tag: the digests that it is named with, "" for none. */
function named() {
  const digests = new Map();
  for (const file of files()) {
    for (const { groups } of read(file).matchAll(NAMED)) {
      digests.set(groups.tag, (digests.get(groups.tag) ?? new Set()).add(groups.digest ?? ""));
    }
  }
  return digests;
}

/** Images that may go without a digest, each with why: `name:tag  the reason`. */
function excused() {
  const lines = read(WITHOUT_DIGEST).split("\n");
  const rows = lines.flatMap((line) => /^(?<tag>[^#\s]\S*)\s+(?<reason>\S.*)$/u.exec(line)?.groups ?? []);
  return new Map(rows.map(({ tag, reason }) => [tag, reason]));
}

function check() {
  let isGood = true;
  const reasons = excused();
  for (const [tag, digests] of named()) {
    const [digest, ...others] = digests;
    const reason = reasons.get(tag);
    const isPinned = digest !== "" && others.length === 0;
    // A reason that is needed no more must go, or it would excuse the next tag without a digest.
    const isRight = isPinned ? reason === undefined : others.length === 0 && reason !== undefined;
    isGood &&= isRight;
    const wrong =
      others.length > 0 ? "named with different digests" : isPinned ? "its reason must go" : "no digest, no reason";
    const text = isRight ? (reason === undefined ? digest : `no digest: ${reason}`) : wrong;
    process.stdout.write(`${isRight ? "✓" : "✗"} ${tag}  ${text}\n`);
    reasons.delete(tag);
  }
  for (const tag of reasons.keys()) process.stdout.write(`✗ ${tag}  is excused, and named nowhere\n`);
  return isGood && reasons.size === 0 ? 0 : 1;
}

function digestOf(tag) {
  const args = ["buildx", "imagetools", "inspect", tag, "--format", "{{.Manifest.Digest}}"];
  const { status, stdout, stderr, error } = spawnSync("docker", args, { encoding: "utf8" });
  const digest = (stdout ?? "").trim();
  if (status === 0 && /^sha256:[0-9a-f]{64}$/u.test(digest)) return digest;
  throw new Error(`${tag}: docker told no digest: ${error?.message ?? stderr.trim()}`);
}

function renew() {
  // All are asked before anything is written.
  const digests = new Map([...named().keys()].map((tag) => [tag, digestOf(tag)]));
  for (const file of files()) {
    const text = read(file).replace(NAMED, (_whole, before, tag) => `${before}${tag}@${digests.get(tag)}`);
    writeFileSync(join(resolve(folder), file), text);
  }
  const left = read(WITHOUT_DIGEST)
    .split("\n")
    .filter((line) => line.startsWith("#"));
  writeFileSync(join(resolve(folder), WITHOUT_DIGEST), `${left.join("\n")}\n`);
  return check();
}

try {
  if (command !== "check" && command !== "renew")
    throw new Error("usage: node deploy/images.js [check|renew] [checkout]");
  process.exitCode = command === "renew" ? renew() : check();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
