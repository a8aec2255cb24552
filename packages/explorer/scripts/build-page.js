#!/usr/bin/env node
/**
 * Builds the proof page: one HTML file with script, style and policy in it. The same sources make the same bytes: no
 * time, path or chance goes in.
 *
 * Usage: build-page.js [file]   default: dist/page.html of this package
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const GLOSSARY = new URL("../../../docs/GLOSSARY.md", import.meta.url);

/** It names the terms that a record is explained by. */
const TERMS_NAMED = new URL("../src/chain/record-details.ts", import.meta.url);

/** Rows `| term | name in code | meaning |` of the glossary that the page shows, without its marks of Markdown. */
function readGlossary() {
  const plain = (text) =>
    text
      .trim()
      .replaceAll(/[*`]/g, "")
      .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1");
  const named = readFileSync(TERMS_NAMED, "utf8");
  const isShown = ({ term }) => named.includes(JSON.stringify(term));
  const rows = readFileSync(GLOSSARY, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, term, , meaning, ...rest] = line.split("|");
      if (rest.length !== 1 || term.trim() === "Term" || /^[\s-]*$/.test(term)) return [];
      return [{ term: plain(term), meaning: plain(meaning) }];
    });
  return rows.filter(isShown);
}

// Vite would take another one from whoever calls, and make another page.
process.env.NODE_ENV = "production";

/** What the page is made of: its program and its style. */
const PARTS = {
  name: "parts",
  resolveId: (id) => (id === "page" ? "\0page" : null),
  load: (id) =>
    id === "\0page"
      ? ["main.tsx", "page.css"].map((part) => `import ${JSON.stringify(resolve(PACKAGE, "src", part))};`).join("\n")
      : null,
};

/** The SDK verifies with node:crypto, which a browser lacks: here with the cryptography of the page. */
const CRYPTO = {
  name: "crypto",
  enforce: "pre",
  resolveId: (id, importer) =>
    id === "./crypto.ts" && importer?.includes("/sdk-typescript/src/")
      ? resolve(PACKAGE, "src/browse/page-crypto.ts")
      : null,
};

const NODE = /^node:/u;
const OTHER_PACKAGE = /\/packages\/(?!explorer\/)[^/]+\/src\//u;

async function bundle() {
  const { output } = await build({
    configFile: false,
    root: PACKAGE,
    logLevel: "warn",
    mode: "production",
    plugins: [PARTS, CRYPTO],
    define: { GLOSSARY: JSON.stringify(readGlossary()) },
    resolve: { conditions: ["source", "module", "browser", "production"] },
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      write: false,
      target: "es2022",
      modulePreload: false,
      cssCodeSplit: false,
      rollupOptions: {
        input: "page",
        output: { format: "iife" },
        external: NODE,
        // The packages beside this one do nothing by being loaded: what is not used of them is left out.
        treeshake: {
          propertyReadSideEffects: false,
          moduleSideEffects: (id) => !NODE.test(id) && !OTHER_PACKAGE.test(id),
        },
      },
    },
  });
  const script = output.find(({ type }) => type === "chunk");
  const style = output.find(({ fileName }) => fileName.endsWith(".css"));
  if (output.length !== 2 || script === undefined || style === undefined) {
    throw new Error(`one script and one style were expected: ${output.map(({ fileName }) => fileName).join(", ")}`);
  }
  if (script.imports.length > 0) throw new Error(`a browser has no ${script.imports.join(", ")}`);
  return { script: script.code.trim(), style: String(style.source).trim() };
}

function sourceHash(text) {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

/** The page runs this one script, and may ask the node that it came from; nobody, if it is a file. */
function policyOf({ script, style }) {
  return [
    "default-src 'none'",
    `script-src ${sourceHash(script)}`,
    `style-src ${sourceHash(style)}`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function pageOf(parts) {
  // An HTML parser ends a script at these characters, wherever they are.
  const script = parts.script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const values = { ...parts, script };
  const template = readFileSync(resolve(PACKAGE, "src/page.html"), "utf8");
  return template
    .replace("%policy%", () => policyOf(values))
    .replace("<!--style-->", () => `<style>${values.style}</style>`)
    .replace("<!--script-->", () => `<script>${values.script}</script>`);
}

const file = resolve(process.argv[2] ?? resolve(PACKAGE, "dist/page.html"));
const page = pageOf(await bundle());
mkdirSync(dirname(file), { recursive: true });
// Whole or not at all: a node may be reading it.
writeFileSync(`${file}.${process.pid}`, page);
renameSync(`${file}.${process.pid}`, file);
