/** Lists, page by page: events, and all claims and grants that there have been. */
import type { Reader } from "./answer-reader.ts";
import { readEventList } from "./answers.ts";
import type { Answered, EventList } from "./answers.ts";
import { readClaimHistory, readGrantHistory } from "./authority-answers.ts";
import type { ClaimHistory, GrantHistory } from "./authority-answers.ts";
import type { Caller } from "./caller.ts";
import type { CallOptions } from "./client-options.ts";
import { holdClaims, holdList } from "./held.ts";
import { claimFilterOf, filterOf, grantFilterOf } from "./query-inputs.ts";
import type { ClaimFilter, EventFilter, GrantFilter, PageInput } from "./query-inputs.ts";

type Filter = Readonly<Record<string, string | number>>;

function listOf<Page extends object>(
  caller: Caller,
  path: string,
  [filter, { cursor, limit }]: readonly [Filter, PageInput],
  read: Reader<Page>,
  options: CallOptions,
): Promise<Answered<Page>> {
  return caller.ask({ path, query: { ...filter, cursor, limit } }, read, options);
}

export async function listEvents(
  caller: Caller,
  filter: EventFilter,
  page: PageInput,
  options: CallOptions,
): Promise<Answered<EventList>> {
  const asked = filterOf(filter);
  const list = await listOf(caller, "/v1/event-anchors", [asked, page], readEventList, options);
  holdList(list, asked);
  return list;
}

const HISTORY = { history: "true" };

export async function listClaims(
  caller: Caller,
  filter: ClaimFilter,
  page: PageInput,
  options: CallOptions,
): Promise<Answered<ClaimHistory>> {
  const asked = claimFilterOf(filter);
  const query = { ...asked, ...HISTORY };
  const list = await listOf(caller, "/v1/claim-anchors", [query, page], readClaimHistory, options);
  holdClaims(list, asked);
  return list;
}

/** What a grant shows are claims: of whose entities they are, it does not say. */
export async function listGrants(
  caller: Caller,
  filter: GrantFilter,
  page: PageInput,
  options: CallOptions,
): Promise<Answered<GrantHistory>> {
  const query = { ...grantFilterOf(filter), ...HISTORY };
  return listOf(caller, "/v1/grant-anchors", [query, page], readGrantHistory, options);
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/** The items of all pages, each page when it is wanted. */
export async function* eachItem<Item>(pageAt: (page: PageInput) => Promise<Page<Item>>): AsyncGenerator<Item> {
  let cursor: string | null = null;
  do {
    const page: Page<Item> = await pageAt({ cursor });
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor !== null);
}
