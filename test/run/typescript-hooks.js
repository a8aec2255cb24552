import { transformFile } from "@swc/core";
import { fileURLToPath } from "node:url";

/** @type {import("node:module").LoadHook} */
export async function load(url, context, nextLoad) {
  if (!url.endsWith(".ts")) return nextLoad(url, context);
  const { code } = await transformFile(fileURLToPath(url), {
    jsc: { parser: { syntax: "typescript" }, target: "es2022" },
    module: { type: "es6" },
    sourceMaps: "inline",
  });
  return { format: "module", source: code, shortCircuit: true };
}
