/** A trace comes in pages of hops; people and bundles want the whole chain. */
import { textOrNullAt } from "./answer-fields.ts";
import type { Fields } from "./answer-fields.ts";
import { CliError, EXIT } from "./cli-error.ts";
import { expectStatus } from "./service.ts";
import type { Service } from "./service.ts";

/** Ten are enough for all that a service shows. */
const PAGES_MAX = 100;

/**
 * The answer to a trace with the hops of all its pages, as if it were one.
 * @throws CliError as the service refuses, `answer_malformed`
 */
export async function askWholeTrace(
  service: Service,
  anchorId: string,
  query = new URLSearchParams(),
): Promise<Fields> {
  const path = `/v1/event-anchors/${anchorId}/trace`;
  const hops: unknown[] = [];
  const asked = new URLSearchParams(query);
  for (let page = 0; page < PAGES_MAX; page++) {
    const suffix = asked.size === 0 ? "" : `?${asked.toString()}`;
    const { body } = expectStatus(await service.ask({ method: "GET", path: path + suffix }), 200);
    if (!Array.isArray(body["delegation"])) break;
    hops.push(...(body["delegation"] as readonly unknown[]));
    const next = textOrNullAt(body, "delegation_next_cursor");
    if (next === null) return { ...body, delegation: hops, delegation_next_cursor: null };
    asked.set("delegation_cursor", next);
  }
  throw new CliError(EXIT.unavailable, "answer_malformed", "the service's answer has no end of its delegation");
}
