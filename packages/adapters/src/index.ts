/** Records what frameworks see: each adapter gives a recorder what happens, and needs nothing of the framework. */
export type { AdapterOptions, EventRecorder } from "./adapter.ts";
export { recordRequests } from "./express.ts";
export type { ExpressNext, ExpressRequest } from "./express.ts";
export { recordingPlugin } from "./fastify.ts";
export type { FastifyHooks, FastifyPlugin, FastifyRequest } from "./fastify.ts";
export type { HttpResponse, RequestOptions } from "./http.ts";
export { recordCalls, recordTool } from "./mcp.ts";
export type { CalledTool, ToolOptions, ToolParameters } from "./mcp.ts";
export { RecordingTracingProcessor } from "./openai-agents.ts";
export type { AgentsOptions, AgentsSpan, AgentsTrace } from "./openai-agents.ts";
export { RecordingLogRecordProcessor } from "./opentelemetry-logs.ts";
export type { EmittedLog, LogRecordOptions } from "./opentelemetry-logs.ts";
export { RecordingSpanProcessor } from "./opentelemetry-spans.ts";
export type { EndedSpan, SpanOptions } from "./opentelemetry-spans.ts";
export { recordingDestination } from "./pino.ts";
export type { LogDestination, LogLine, LogOptions } from "./pino.ts";
