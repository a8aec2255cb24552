import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ReleaseError } from "../artefact.ts";
import type { Library } from "./bundle-code.ts";

/** The licence of each library, whole. @throws ReleaseError if one has none */
export async function licencesOf(libraries: readonly Library[]): Promise<string> {
  const texts = libraries.map(async ({ name, version, license, folder }) => {
    const text = await licenceIn(folder);
    if (text === null) throw new ReleaseError(`${name} ${version} has no licence text`);
    return `${name} ${version} (${license})\n\n${text.replaceAll("\r\n", "\n").trim()}\n`;
  });
  return (await Promise.all(texts)).join(`\n${"-".repeat(80)}\n\n`);
}

/** From its file, or from the end of its README. null: there is none. */
async function licenceIn(folder: string): Promise<string | null> {
  const names = readdirSync(folder);
  const file = names.find((each) => /^(licen[cs]e|copying)(\.(md|txt))?$/iu.test(each));
  if (file !== undefined) return readFile(join(folder, file), "utf8");
  const readme = names.find((each) => /^readme\.md$/iu.test(each));
  if (readme === undefined) return null;
  const [, text = null] =
    /\n#+ license\n([^#]*permission[^#]*)$/iu.exec(await readFile(join(folder, readme), "utf8")) ?? [];
  return text;
}
