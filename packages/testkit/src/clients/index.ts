export { AnchoringClient, expectOk, served } from "./anchoring-client.ts";
export type {
  Answer,
  QueryFields,
  WireAnchor,
  WireAsOf,
  WireCheck,
  WireCreated,
  WireFound,
} from "./anchoring-client.ts";
export { FeedReader, assertHeadsChained } from "./feed-reader.ts";
export { HttpConnection } from "./http-connection.ts";
export type { HttpRequest } from "./http-connection.ts";
export { HttpResponseReader } from "./http-response-reader.ts";
export type { HttpAnswer } from "./http-response-reader.ts";
export { KeptSocket } from "./kept-socket.ts";
export { LoadClient } from "./load-client.ts";
export type { LoadAnswer } from "./load-client.ts";
export { RetryingWriter } from "./retrying-writer.ts";
export type { Acknowledged } from "./retrying-writer.ts";
export { Scrape, scrapeOf } from "./scrape.ts";
