#!/usr/bin/env node
/**
 * Makes the npm package: the build of this folder with the modules of `protocol`, `records` and `bundle` that it
 * uses, and no dependencies. Needs `npx tsc -b packages/sdk-typescript`. Usage: make-package.js <folder of the tarball>
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

const SDK = fileURLToPath(new URL("..", import.meta.url));
const PREFIX = "@event-anchoring/";
/** Where a package's build is, and where its modules go. */
const PARTS = {
  sdk: { build: join(SDK, "dist"), target: "dist" },
  protocol: { build: join(SDK, "../protocol/dist"), target: "dist/vendor/protocol" },
  records: { build: join(SDK, "../records/dist"), target: "dist/vendor/records" },
  bundle: { build: join(SDK, "../bundle/dist"), target: "dist/vendor/bundle" },
};
const STATEMENT = /^(import|export)( type)? (\{[^}]*\}|\* as \w+) from "([^"]+)";$/gm;

/** Names in braces: what they are called there, and here. */
function namesIn(braces) {
  return braces
    .slice(1, -1)
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const [there, here = there] = part.split(/\s+as\s+/);
      return { there, here };
    });
}

/** Which module of a package defines what its door exports. */
function doorOf(part, extension) {
  const text = readFileSync(join(PARTS[part].build, `index${extension}`), "utf8");
  const modules = new Map();
  for (const [, , , braces, specifier] of text.matchAll(STATEMENT)) {
    for (const { there, here } of namesIn(braces)) modules.set(here, { module: specifier, there });
  }
  return modules;
}

/** `./bytes.ts` and `./bytes.js` are the module `bytes`. */
function moduleName(specifier) {
  return posix.normalize(specifier).replace(/\.(ts|js)$/, "");
}

class Packer {
  #extension;
  #staging;
  #doors = new Map();
  #done = new Set();

  constructor(extension, staging) {
    this.#extension = extension;
    this.#staging = staging;
  }

  /** Copies a module and all that it imports. */
  copy(part, name) {
    const path = posix.join(PARTS[part].target, name);
    if (this.#done.has(path)) return;
    this.#done.add(path);
    const source = readFileSync(join(PARTS[part].build, `${name}${this.#extension}`), "utf8");
    const text = source
      .replace(/^\/\/# sourceMappingURL=.*$/gm, "")
      .replace(STATEMENT, (...match) => this.#rewrite(part, name, match));
    if (text.includes(PREFIX)) throw new Error(`${path}${this.#extension} still imports ${PREFIX}…`);
    const target = join(this.#staging, `${path}${this.#extension}`);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, `${text.trimEnd()}\n`);
  }

  #rewrite(part, name, [whole, keyword, type = "", braces, specifier]) {
    if (specifier.startsWith("node:")) return whole;
    const here = posix.join(PARTS[part].target, posix.dirname(name));
    if (specifier.startsWith(".")) {
      const module = moduleName(posix.join(posix.dirname(name), specifier));
      this.copy(part, module);
      return `${keyword}${type} ${braces} from "${this.#relative(here, part, module)}";`;
    }
    if (!specifier.startsWith(PREFIX)) throw new Error(`${name} of ${part} depends on ${specifier}`);
    return this.#throughDoor(here, keyword + type, braces, specifier.slice(PREFIX.length));
  }

  /** One statement for each module behind the door, so that nothing else comes along. */
  #throughDoor(here, keyword, braces, other) {
    if (!this.#doors.has(other)) this.#doors.set(other, doorOf(other, this.#extension));
    const byModule = new Map();
    for (const name of namesIn(braces)) {
      const found = this.#doors.get(other).get(name.there);
      if (found === undefined) throw new Error(`${PREFIX}${other} does not export ${name.there}`);
      // A door passes on a type of another package: go to where it is defined.
      const passedOn = found.module.startsWith(PREFIX);
      const part = passedOn ? found.module.slice(PREFIX.length) : other;
      const module = passedOn ? doorOf(part, this.#extension).get(found.there).module : found.module;
      const key = `${part} ${moduleName(module)}`;
      const renamed = found.there === name.here ? name.here : `${found.there} as ${name.here}`;
      byModule.set(key, [...(byModule.get(key) ?? []), renamed]);
    }
    const statements = [...byModule].map(([key, names]) => {
      const [part, module] = key.split(" ");
      this.copy(part, module);
      return `${keyword} { ${names.join(", ")} } from "${this.#relative(here, part, module)}";`;
    });
    return statements.join("\n");
  }

  #relative(here, part, module) {
    const path = posix.relative(here, posix.join(PARTS[part].target, module));
    return `${path.startsWith(".") ? path : `./${path}`}.js`;
  }
}

function manifest() {
  const { name, version, description, keywords, license, type, engines } = JSON.parse(
    readFileSync(join(SDK, "package.json"), "utf8"),
  );
  const exports = { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } };
  const rest = { type, sideEffects: false, exports, types: "./dist/index.d.ts", files: ["dist", "NOTICE"], engines };
  return { name, version, description, keywords, license, ...rest };
}

function stage(staging) {
  for (const extension of [".js", ".d.ts"]) new Packer(extension, staging).copy("sdk", "index");
  writeFileSync(join(staging, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
  for (const file of ["README.md", "LICENSE", "NOTICE"]) cpSync(join(SDK, file), join(staging, file));
}

const [destination] = process.argv.slice(2);
if (destination === undefined) {
  process.stderr.write("usage: make-package.js <folder of the tarball>\n");
  process.exit(64);
}
const staging = mkdtempSync(join(tmpdir(), "anchoring-npm-"));
try {
  stage(staging);
  mkdirSync(destination, { recursive: true });
  const packed = spawnSync("npm", ["pack", "--silent", "--pack-destination", destination], {
    cwd: staging,
    encoding: "utf8",
    stdio: ["ignore", "pipe", 2],
  });
  if (packed.status !== 0) throw new Error(`npm pack ended with ${packed.status}`);
  process.stdout.write(`${join(destination, packed.stdout.trim().split("\n").at(-1) ?? "")}\n`);
} finally {
  rmSync(staging, { recursive: true, force: true });
}
