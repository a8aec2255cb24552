import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** What an SDK offers, read from its sources: exported names, and the public members of each type. */
export interface Surface {
  readonly functions: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
  /** By type, with what it inherits. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
}

const PACKAGES = join(import.meta.dirname, "..", "..", "packages");

function filesIn(folder: string, ending: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(ending))
    .toSorted()
    .map((path) => readFileSync(join(folder, path), "utf8"));
}

function namesIn(list: string): readonly string[] {
  return list.match(/[\w*]+/g) ?? [];
}

function surfaceOf(exported: readonly string[], members: Surface["members"]): Surface {
  const isType = (name: string): boolean => /^[A-Z]/.test(name);
  return {
    functions: new Set(exported.filter((name) => /^[a-z]/.test(name))),
    types: new Set(exported.filter(isType)),
    members,
  };
}

/** The lines of a block, which the formatters of all three languages leave unindented at its end. */
function blockAfter(text: string, from: number, end: RegExp): string {
  const rest = text.slice(from);
  const at = rest.search(end);
  return at < 0 ? rest : rest.slice(0, at);
}

/** Classes of `src`, and what its two entries export. */
export function typescriptSurface(): Surface {
  const folder = join(PACKAGES, "sdk-typescript", "src");
  const members = new Map<string, Set<string>>();
  for (const text of filesIn(folder, ".ts")) {
    for (const found of text.matchAll(/^export (?:abstract )?(?:class|interface) (\w+)[^\n]*\{$/gm)) {
      const block = blockAfter(text, found.index, /\n\}/);
      const names = block.matchAll(/^ {2}(?:(?:static|async|readonly|get|override) )*\*?([a-z]\w*)\??[(<:]/gm);
      members.set(found[1] ?? "", new Set([...names].map((name) => name[1] ?? "").filter(isNoConstructor)));
    }
  }
  const entries = ["index.ts", "recorder/index.ts"]
    .map((entry) => readFileSync(join(folder, entry), "utf8"))
    .join("\n");
  const exported = [...entries.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap((list) => namesIn(list[1] ?? ""));
  return surfaceOf(exported, members);
}

function isNoConstructor(name: string): boolean {
  return name !== "constructor" && name !== "private";
}

/** Classes of the package, with what they inherit from one another, and what `__all__` lists. */
export function pythonSurface(): Surface {
  const folder = join(PACKAGES, "sdk-python", "src", "event_anchoring");
  const own = new Map<string, { readonly bases: readonly string[]; readonly names: readonly string[] }>();
  for (const text of filesIn(folder, ".py")) {
    for (const found of text.matchAll(/^class (\w+)(?:\(([^)]*)\))?:/gm)) {
      const block = blockAfter(text, found.index + found[0].length, /\n[^\s#)]/);
      const names = block.matchAll(/^ {4}(?:(?:async )?def ([a-z]\w*)\(|([a-z]\w*): )/gm);
      own.set(found[1] ?? "", {
        // What a base is generic over is none.
        bases: namesIn((found[2] ?? "").replaceAll(/\[[^\]]*\]/g, "")),
        names: [...names].map((name) => name[1] ?? name[2] ?? ""),
      });
    }
  }
  const inherited = (type: string): readonly string[] => {
    const found = own.get(type);
    return found === undefined ? [] : [...found.names, ...found.bases.flatMap(inherited)];
  };
  const members = new Map([...own.keys()].map((type) => [type, new Set(inherited(type))]));
  const init = readFileSync(join(folder, "__init__.py"), "utf8");
  const all = /^__all__ = \[([^\]]*)\]/m.exec(init)?.[1] ?? "";
  return surfaceOf(namesIn(all), members);
}

/** Structures and what is implemented for them, and what `lib.rs` makes public. */
export function rustSurface(): Surface {
  const folder = join(PACKAGES, "sdk-rust", "src");
  const members = new Map<string, Set<string>>();
  const add = (type: string, names: Iterable<string>): void => {
    members.set(type, new Set([...(members.get(type) ?? []), ...names]));
  };
  for (const text of filesIn(folder, ".rs")) {
    for (const found of text.matchAll(/^impl(?:<[^{]*?>)? (?:(\w+)(?:<[^{]*>)? for )?(\w+)[^;\n]*\{$/gm)) {
      const block = blockAfter(text, found.index, /\n\}/);
      const isSigner = found[1] === "Signer";
      if (found[1] !== undefined && !isSigner) continue;
      const names = block.matchAll(isSigner ? /^ {4}fn (\w+)/gm : /^ {4}pub (?:async |const )*fn (\w+)/gm);
      add(
        found[2] ?? "",
        [...names].map((name) => name[1] ?? ""),
      );
    }
    for (const found of text.matchAll(/^pub (?:struct|enum|trait) (\w+)[^;\n]*\{$/gm)) {
      const names = blockAfter(text, found.index, /\n\}/).matchAll(/^ {4}(?:pub (\w+):|(?:async )?fn (\w+))/gm);
      add(
        found[1] ?? "",
        [...names].map((name) => name[1] ?? name[2] ?? ""),
      );
    }
  }
  const lib = readFileSync(join(folder, "lib.rs"), "utf8");
  const exported = [...lib.matchAll(/^pub use \w+::(?:\{([^}]*)\}|(\w+|\*));/gm)].flatMap((list) =>
    namesIn(list[1] ?? list[2] ?? ""),
  );
  return surfaceOf(exported, members);
}
