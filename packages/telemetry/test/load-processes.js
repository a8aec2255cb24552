// Run by a test from the build: what the two processes of a node load, and whether the tracing SDK is among it.
import { createRequire } from "node:module";

await import("@event-anchoring/api");
await import("@event-anchoring/control-plane");
const { startTracing } = await import("@event-anchoring/telemetry");
const logger = { info: () => undefined, warn: () => undefined };
const tracer = await startTracing(process.env, { service: "test", version: "1", nodeId: "n1", logger });

const { cache } = createRequire(import.meta.url);
const packages = Object.keys(cache).flatMap((path) => /@opentelemetry\/([^/]+)\//.exec(path)?.[1] ?? []);
// The interface alone, without an implementation behind it, comes with the metrics library.
const modules = [...new Set(packages)].filter((name) => name !== "api").sort();
const sockets = process.getActiveResourcesInfo().filter((kind) => kind.includes("TCP")).length;
process.stdout.write(JSON.stringify({ isTracing: tracer !== null, modules, sockets }), () => process.exit(0));
