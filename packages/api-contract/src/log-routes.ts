/** The log itself, as C2SP tlog-tiles: for whoever wants every leaf, and for tools that know nothing of this API. */
import { endEventSchema, headEventSchema } from "./answers.ts";
import { entriesPathSchema, feedQuerySchema, originPathSchema, tilePathSchema } from "./log-requests.ts";
import { READ_PROBLEMS, route } from "./route.ts";

const TILE =
  "`{index}` is the rest of the path, and has slashes: `067`, `x001/x234/067`, `067.p/112`. Every other spelling is " +
  "400. A tile's content never changes, so a full one may be cached: it says `Cache-Control: private, immutable`, or " +
  "`public` if no key was shown.";

/** Entries come before tiles: `entries` is no level. */
export const LOG_ROUTES = [
  route({
    id: "getCheckpoint",
    method: "GET",
    path: "/v1/origins/{origin_fingerprint}/checkpoint",
    tag: "log",
    summary: "Read the newest certified checkpoint of an origin",
    description:
      "A C2SP signed note with the log's line and the cosignatures. Linearizable: never older than any answer given " +
      "before the request came, on any node.",
    scopes: ["read"],
    isOpenOnPublicLog: true,
    pathSchema: originPathSchema,
    answers: { 200: null },
    mediaTypes: ["text/plain"],
    problems: [...READ_PROBLEMS, "origin_unknown", "no_anchor_yet"],
  }),
  route({
    id: "getFeed",
    method: "GET",
    path: "/v1/origins/{origin_fingerprint}/feed",
    tag: "log",
    summary: "Follow the certified heads of an origin, as server-sent events",
    description:
      "One event for each head that is shown: `id` is the tree size, and sizes strictly rise. Heads may be left out: " +
      "at most four a second are shown. Each proves that the tree of the event before is its beginning, so nothing " +
      "is missed. Ask again, any node, with `Last-Event-ID` (or `after_size`): the first event then begins where you " +
      "are. A comment every 10 seconds says that the feed lives. Whoever does not read is dropped.",
    scopes: ["read"],
    isOpenOnPublicLog: true,
    pathSchema: originPathSchema,
    querySchema: feedQuerySchema,
    answers: { 200: null },
    mediaTypes: ["text/event-stream"],
    events: { head: headEventSchema, end: endEventSchema },
    problems: [...READ_PROBLEMS, "origin_unknown", "no_anchor_yet", "from_size_ahead"],
  }),
  route({
    id: "getEntries",
    method: "GET",
    path: "/v1/origins/{origin_fingerprint}/tile/entries/{index}",
    isTail: true,
    tag: "log",
    summary: "Read an entry bundle: up to 256 leaves",
    description: `Leaves 256 · N and after, each after its length as u16, up to the certified size.\n\n${TILE}`,
    scopes: ["read"],
    isOpenOnPublicLog: true,
    pathSchema: entriesPathSchema,
    answers: { 200: null },
    mediaTypes: ["application/octet-stream"],
    problems: [...READ_PROBLEMS, "origin_unknown", "tile_not_found"],
  }),
  route({
    id: "getTile",
    method: "GET",
    path: "/v1/origins/{origin_fingerprint}/tile/{level}/{index}",
    isTail: true,
    tag: "log",
    summary: "Read a tile: up to 256 hashes",
    description: `Hashes of 32 bytes, of perfect subtrees below the certified size.\n\n${TILE}`,
    scopes: ["read"],
    isOpenOnPublicLog: true,
    pathSchema: tilePathSchema,
    answers: { 200: null },
    mediaTypes: ["application/octet-stream"],
    problems: [...READ_PROBLEMS, "origin_unknown", "tile_not_found"],
  }),
] as const;
