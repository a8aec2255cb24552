import { wireName } from "@event-anchoring/sdk";
import type { Client, ClaimAnchor, GrantAnchor, HistoryItem, PageInput, RecordHistory } from "@event-anchoring/sdk";
import { named } from "@event-anchoring/verdicts";
import type { NameFile } from "@event-anchoring/bundle";
import { attributeTypeText } from "../files/names-file.ts";
import type { Service } from "../service/service.ts";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import { alignColumns } from "../terminal/table.ts";
import { counted } from "../terminal/words.ts";

export interface HistoryOptions {
  /** As an earlier answer gave it; null: from the first record. */
  readonly cursor: string | null;
  /** Records at most. */
  readonly limit: number;
  readonly isJson: boolean;
  readonly names: NameFile;
}

export type HistoryRecord = ClaimAnchor | GrantAnchor;

type Page<Kind extends HistoryRecord> = RecordHistory<Kind>;

/** What the service gives at once at most. */
const PAGE_ITEMS_MAX = 100;

/** As many pages as the limit takes; what is not items is the last one's. */
async function readPages<Kind extends HistoryRecord>(
  pageAt: (page: PageInput) => Promise<Page<Kind>>,
  { cursor, limit }: HistoryOptions,
): Promise<Page<Kind>> {
  const items: HistoryItem<Kind>[] = [];
  for (let next = cursor; ;) {
    const page = await pageAt({ cursor: next, limit: Math.min(PAGE_ITEMS_MAX, limit - items.length) });
    items.push(...page.items);
    next = page.nextCursor;
    if (next === null || items.length >= limit || page.items.length === 0) return { ...page, items };
  }
}

/** With the names that the service has for its members. */
function inWireNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inWireNames);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [wireName(name), inWireNames(member)]));
}

/** In full, so that it can be copied. */
function idText(anchorId: string, { hashes }: NameFile): string {
  const name = hashes.get(anchorId);
  return name === undefined ? anchorId : `${anchorId} ${name}`;
}

function endText({ anchor, ended }: HistoryItem<HistoryRecord>, { hashes }: NameFile): string {
  if (ended === null) return "";
  const { code, anchorId, sequence, endedBy } = ended;
  const of = anchorId === anchor.anchorId ? "" : ` of ${named(anchorId, hashes)}`;
  const by = sequence === null || endedBy === null ? "" : `, by ${named(endedBy, hashes)}, sequence ${sequence}`;
  return `${code}${of}${by}`;
}

/** A claim has a type; a grant a number of further hops. */
function ownText(anchor: HistoryRecord, names: NameFile): string {
  return anchor.kind === "claim" ? attributeTypeText(anchor.attributeType, names) : String(anchor.delegationDepth);
}

/** `anchorctl history`: all claims or grants that there have been, each with its state and what ended it. */
export async function historyCommand<Kind extends HistoryRecord>(
  what: { readonly one: string; readonly own: string },
  listPage: (client: Client, page: PageInput) => Promise<Page<Kind>>,
  options: HistoryOptions,
  { service, printer }: { readonly service: Service; readonly printer: Printer },
): Promise<ExitCode> {
  const found = await readPages((page) => service.call((client) => listPage(client, page)), options);
  const { items, nextCursor, certified, asOf } = found;
  if (options.isJson) {
    printer.json(inWireNames({ items, nextCursor, certified, asOf }) as object);
    return EXIT.ok;
  }
  const rows = items.map((item) => {
    const { sequence, acceptedAt, state, anchorId } = item.anchor;
    return [
      String(sequence),
      acceptedAt,
      ownText(item.anchor, options.names),
      state,
      idText(anchorId, options.names),
      endText(item, options.names),
    ];
  });
  const heads = ["SEQUENCE", "ACCEPTED", what.own, "STATE", what.one.toUpperCase(), "ENDED"];
  if (rows.length > 0) for (const line of alignColumns([heads, ...rows])) printer.line(line);
  const position = asOf.sequence === null ? "" : `, sequence ${asOf.sequence}`;
  printer.check("skip", "as of", `${asOf.time}${position}: ${counted(items.length, what.one)}`);
  if (nextCursor !== null) printer.check("skip", "more", `there are more: --cursor ${nextCursor}`);
  return EXIT.ok;
}
