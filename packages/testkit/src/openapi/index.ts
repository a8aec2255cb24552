/** Requests and values made from an OpenAPI document. */
export { OpenApiReader } from "./openapi-reader.ts";
export type { JsonObject, MediaType, Operation, Parameter } from "./openapi-reader.ts";
export { ValueMaker, spoiled } from "./value-maker.ts";
export type { KnownValues } from "./value-maker.ts";
export { knownValues, requestsTo } from "./generated-requests.ts";
export type { GeneratedRequest, MadeRecords } from "./generated-requests.ts";
