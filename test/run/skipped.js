#!/usr/bin/env node
/**
 * Prints what a run of the checks has skipped and why it may be, and fails on what may not. A skip is excused by a line
 * of the list whose beginning it has, unless this machine has what the skipped tests take: then they could have run.
 *
 * Usage: skipped.js <list> <file with what other suites have left out, a line each> <Jest's summary> ...
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/**
 * @param {string} text lines `<beginning> :: <could run if this succeeds in bash, or never> :: <why it may be left
 *   out>`; empty ones and those that begin with # say nothing
 */
function readList(text) {
  return text.split("\n").flatMap((line, at) => {
    if (line.trim() === "" || line.startsWith("#")) return [];
    const parts = line.split(" :: ").map((part) => part.trim());
    const [beginning, couldRunIf, why] = parts;
    if (parts.length !== 3 || parts.includes("")) throw new Error(`line ${at + 1} of the list has not three parts`);
    return [{ beginning, couldRunIf, why }];
  });
}

/** Skipped tests of Jest's summary, by suite and outermost title: each with how many tests it stands for. */
function skippedBy(summary, root) {
  const counts = new Map();
  for (const { name, assertionResults } of summary.testResults) {
    for (const { status, ancestorTitles, title } of assertionResults) {
      if (status === "passed" || status === "failed") continue;
      const skip = `${name.slice(root.length)}: ${ancestorTitles[0] ?? title}`;
      counts.set(skip, (counts.get(skip) ?? 0) + 1);
    }
  }
  return [...counts].map(([skip, count]) => ({ skip, count }));
}

/**
 * @param {readonly {skip: string, count: number}[]} skips
 * @param {(command: string) => boolean} succeeds
 * @returns lines to print, and whether all of it is excused
 */
function judge(skips, list, succeeds) {
  const isHere = new Map();
  const couldRun = (command) => {
    if (command === "never") return false;
    if (!isHere.has(command)) isHere.set(command, succeeds(command));
    return isHere.get(command);
  };
  let isExcused = true;
  const lines = skips.map(({ skip, count }) => {
    const entry = list.find(({ beginning }) => skip.startsWith(beginning));
    const shown = `${skip}${count === 1 ? "" : ` (${count} tests)`}`;
    if (entry !== undefined && !couldRun(entry.couldRunIf)) return `skipped, ${shown}: ${entry.why}`;
    isExcused = false;
    const why = entry === undefined ? "it is not on the list" : `it could run, as \`${entry.couldRunIf}\` says`;
    return `NOT EXCUSED, ${shown}: ${why}`;
  });
  return { lines, isExcused };
}

function main([listFile, othersFile, ...summaryFiles]) {
  const list = readList(readFileSync(listFile, "utf8"));
  const others = readFileSync(othersFile, "utf8").split("\n");
  const skips = [
    ...summaryFiles.flatMap((file) => skippedBy(JSON.parse(readFileSync(file, "utf8")), ROOT)),
    ...others.filter((line) => line !== "").map((skip) => ({ skip, count: 1 })),
  ];
  const succeeds = (command) =>
    spawnSync("bash", ["-c", command], { cwd: ROOT, stdio: "ignore", timeout: 120_000 }).status === 0;
  const { lines, isExcused } = judge(skips, list, succeeds);
  process.stdout.write(lines.length === 0 ? "nothing was skipped\n" : `${lines.join("\n")}\n`);
  process.exitCode = isExcused ? 0 : 1;
}

main(process.argv.slice(2));
