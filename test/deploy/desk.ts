/** A checkout with a ceremony of its own, in which a page's commands are typed as they stand. */
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { IMAGE, ROOT, assertRan, provideImages } from "./compose-cluster.ts";
import type { DockerEngine, Ran } from "./docker-engine.ts";

function sectionOf(page: string, heading: string): string {
  const text = readFileSync(join(ROOT, page), "utf8");
  const [, after = ""] = text.split(`\n${heading}\n`);
  const [section = ""] = after.split(/^##/mu);
  return section;
}

/** The blocks of commands below a heading of a page, in their order; `## On three hosts`, for one. */
export function commandsOf(page: string, heading: string): readonly string[] {
  const blocks = [...sectionOf(page, heading).matchAll(/^( *)```sh\n([^`]*)```/gmu)];
  return blocks.map(([, indent = "", commands = ""]) => commands.replaceAll(new RegExp(`^${indent}`, "gmu"), ""));
}

/** The commands of Compose in the sentences and tables below a heading of a page, in their order. */
export function inlineCommandsOf(page: string, heading: string): readonly string[] {
  return [...sectionOf(page, heading).matchAll(/`(docker compose [^`\n]*)`/gu)].map(([, command = ""]) => command);
}

/** Types commands in a folder; throws with what they said if one fails. */
export function shell(engine: DockerEngine, cwd: string, script: string): Ran {
  return assertRan(engine.run("sh", ["-ec", script], {}, cwd), script);
}

/** What a checkout has, without its cluster; the images; and the ceremony of a new one. */
export function makeDesk(engine: DockerEngine, folder: string): { readonly images: readonly string[] } {
  mkdirSync(folder);
  for (const name of ["deploy", "docker-compose.yml"])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter: (path) => !path.endsWith(".anchoring") });
  for (const name of ["certs", "node_modules"]) symlinkSync(join(ROOT, name), join(folder, name));
  const images = provideImages(engine);
  if (engine.docker("image", "inspect", IMAGE).status !== 0) {
    const account = { ANCHORING_UID: "10001", ANCHORING_GID: "10001" };
    assertRan(engine.run("docker", ["compose", "build"], account, ROOT), "docker compose build");
  }
  assertRan(engine.run(process.execPath, [join(ROOT, "certs/ceremony.js")], {}, folder), "the ceremony");
  return { images };
}
