import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ReleaseError } from "./artefact.ts";
import { run } from "./run.ts";

/** The root of the repository. */
export const CHECKOUT = fileURLToPath(new URL("../../..", import.meta.url));

/** The version of the service, and of all that is released with it. */
export function checkoutVersion(): string {
  const { version } = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8")) as { readonly version: string };
  return version;
}

/** The time of the last commit, in seconds; `SOURCE_DATE_EPOCH` where there is no git, or another time is wanted. */
export async function sourceDateEpoch(): Promise<number> {
  const given = process.env["SOURCE_DATE_EPOCH"];
  const text = given ?? (await run("git", ["-C", CHECKOUT, "log", "-1", "--format=%ct"]));
  if (!/^\d{1,11}\n?$/.test(text)) throw new ReleaseError(`SOURCE_DATE_EPOCH is not a number of seconds: ${text}`);
  return Number(text);
}

/** Files that differ from the last commit, or are not in it. */
export async function uncommittedFiles(): Promise<readonly string[]> {
  const lines = await run("git", ["-C", CHECKOUT, "status", "--porcelain"]);
  return lines.split("\n").filter((line) => line !== "");
}
