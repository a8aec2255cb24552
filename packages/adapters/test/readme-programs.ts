import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

// What the README shows, run as it is written there; what a program needs around it comes behind the lines.

const PACKAGE = join(import.meta.dirname, "..");
const readme = readFileSync(join(PACKAGE, "README.md"), "utf8");
const linesIn = (text: string): string => /```js\n([^]*?)```/u.exec(text)?.[1] ?? "";
const beginning = linesIn(readme.split("\n## ")[0] ?? "");

/** What happens to a framework after the README's lines. */
const USES = {
  pino: "",
  "OpenTelemetry spans": "",
  "OpenTelemetry logs": "",
  Express: `
await new Promise((resolve) => server.once("listening", resolve));
const address = \`http://127.0.0.1:\${server.address().port}/orders/4711?secret=1\`;
await (await fetch(address, { headers: { "x-user": "ada", connection: "close" } })).text();
await new Promise((resolve) => server.close(resolve));`,
  Fastify: `
const address = \`http://127.0.0.1:\${app.server.address().port}/orders/4711?secret=1\`;
await (await fetch(address, { headers: { "x-user": "ada", connection: "close" } })).text();
await app.close();`,
  MCP: `
const { Client: McpClient } = await import("@modelcontextprotocol/sdk/client/index.js");
const { InMemoryTransport } = await import("@modelcontextprotocol/sdk/inMemory.js");
const [here, there] = InMemoryTransport.createLinkedPair();
const caller = new McpClient({ name: "agent", version: "1.0.0" });
await Promise.all([server.connect(there), caller.connect(here)]);
await caller.callTool({ name: "refund", arguments: { order: "4711" } });
await caller.close();`,
  "OpenAI's Agents SDK": "",
} as const;

export type Framework = keyof typeof USES;
export const FRAMEWORKS = Object.keys(USES) as readonly Framework[];

/** The lines of one framework. */
export function readmeLines(framework: Framework): string {
  return linesIn(readme.split(`\n## ${framework}\n`)[1]?.split("\n## ")[0] ?? "");
}

/** What a program has left in `audit/kept`: one event. */
export interface Left {
  readonly payload: Uint8Array;
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly receipt: string;
}

/** Runs a framework's lines against a service. */
export async function runReadme(framework: Framework, endpoint: string, apiKey: string): Promise<Left> {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-adapters-"));
  try {
    symlinkSync(join(PACKAGE, "..", "..", "node_modules"), join(folder, "node_modules"));
    const lines = readmeLines(framework).replace(/8080/u, "0");
    writeFileSync(join(folder, "program.mjs"), `${beginning}${lines}${USES[framework]}\nawait recorder.close();\n`);
    // As a user has it: where it is "test", the Agents SDK traces nothing.
    const own = { ...process.env, NODE_ENV: "production" };
    const env = { ...own, ANCHORING_ENDPOINT: endpoint, ANCHORING_API_KEY: apiKey };
    await promisify(execFile)(process.execPath, ["program.mjs"], { cwd: folder, env, timeout: 60_000 });
    const kept = join(folder, "audit", "kept");
    const names = readdirSync(kept, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
    const [name = ""] = names;
    if (names.length !== 1) throw new Error(`${framework} left ${names.length} events`);
    const payload = readFileSync(join(kept, name));
    const envelope = JSON.parse(payload.toString()) as Left["envelope"];
    return { payload, envelope, receipt: readFileSync(join(kept, `${name}.tlog-proof`), "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
