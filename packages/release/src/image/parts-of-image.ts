import { ReleaseError } from "../artefact.ts";
import type { Part } from "../contents.ts";
import type { ImageLayout } from "./image-layout.ts";

/** What npm writes into node_modules about what it has put there. */
interface HiddenLockfile {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly license?: string; readonly link?: boolean }>
  >;
}

/** @returns what others have written and is in the image: packages of Debian, Node.js, libraries of npm */
export async function partsOfImage(image: ImageLayout): Promise<readonly Part[]> {
  const [status, release, lockfile] = await Promise.all(
    ["var/lib/dpkg/status", "usr/lib/os-release", "app/node_modules/.package-lock.json"].map(async (path) => {
      const text = await image.read(path);
      if (text === null) throw new ReleaseError(`the image has no ${path}, which says what is in it`);
      return text;
    }),
  );
  return [...debianParts(status ?? "", release ?? ""), nodeIn(image), ...libraries(lockfile ?? "")];
}

/** The installed packages of `dpkg`, as `deb` names them: https://github.com/package-url/purl-spec */
export function debianParts(status: string, osRelease: string): readonly Part[] {
  const [, distribution] = /^VERSION_ID="?([^"\n]+)"?$/mu.exec(osRelease) ?? [];
  if (distribution === undefined) throw new ReleaseError("the image does not say which Debian it is");
  return status
    .split("\n\n")
    .map((paragraph) => new Map([...paragraph.matchAll(/^([A-Za-z-]+): (.*)$/gmu)].map(([, key, text]) => [key, text])))
    .filter((fields) => fields.get("Status") === "install ok installed")
    .map((fields) => ({
      registry: "deb",
      name: `debian/${fields.get("Package")}`,
      version: fields.get("Version") ?? null,
      qualifiers: `arch=${fields.get("Architecture")}&distro=debian-${distribution}`,
      // Texts in /usr/share/doc, and no expression.
      license: null,
      relation: "CONTAINS",
    }));
}

function nodeIn({ config }: ImageLayout): Part {
  const name = "NODE_VERSION=";
  const variable = config.config?.Env?.find((each) => each.startsWith(name));
  if (variable === undefined) throw new ReleaseError("the image does not say which Node.js it has");
  return {
    registry: "generic",
    name: "node",
    version: variable.slice(name.length),
    license: "MIT",
    relation: "CONTAINS",
  };
}

function libraries(lockfile: string): readonly Part[] {
  const { packages } = JSON.parse(lockfile) as HiddenLockfile;
  return Object.entries(packages)
    .filter(([folder, { link }]) => folder.includes("node_modules/") && link !== true)
    .map(([folder, { version, license }]) => ({
      registry: "npm",
      name: folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length),
      version: version ?? null,
      license: license ?? null,
      relation: "CONTAINS",
    }));
}
