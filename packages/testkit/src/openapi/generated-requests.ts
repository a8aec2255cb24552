/** Requests to an operation, made from what the OpenAPI document says of it. */
import fc from "fast-check";
import type { Operation } from "./openapi-reader.ts";
import { spoiled } from "./value-maker.ts";
import type { KnownValues, ValueMaker } from "./value-maker.ts";

/** Ids of records that exist, and the entity of a claim. */
export interface MadeRecords {
  claim: string;
  grantee: string;
  grant: string;
  event: string;
  signed: string;
  revoked: string;
  revocation: string;
  entity: string;
}

/** With these, generated requests get past their shape. */
export function knownValues(made: MadeRecords, origin: string): KnownValues {
  const ids = [made.claim, made.grantee, made.grant, made.event, made.signed, made.revocation];
  return new Map([
    ["anchor_id", ids],
    ["iris_ref", [made.claim, made.grantee]],
    ["grant_ref", [made.grant]],
    ["scroll_ref", ids],
    ["grantor_claim_ref", [made.claim]],
    ["grantee_claim_ref", [made.grantee]],
    ["parent_grant_ref", [made.grant, ""]],
    ["trusted_roots", [made.claim]],
    ["entity_fingerprint", [made.entity]],
    ["origin_fingerprint", [origin, origin.toUpperCase()]],
    ["client_event_id", ["the first", "to be erased"]],
    ["index", ["000.p/1", "000.p/9", "999"]],
  ]);
}

const HEADERS = fc.record(
  {
    prefer: fc.constantFrom("wait=1", "respond-async", "wait=0", "wait=99, respond-async", ";;", "handling=lenient"),
    "x-request-id": fc.constantFrom("a", "A.b-c_9", "x".repeat(64), "x".repeat(65), "a b", '"'),
    accept: fc.constantFrom("*/*", "text/plain", "application/xml", "", "application/json;q=0"),
  },
  { requiredKeys: [] },
);

export interface GeneratedRequest {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** Good ones, and ones with something wrong in query or body. */
export function requestsTo(operation: Operation, values: ValueMaker): fc.Arbitrary<GeneratedRequest> {
  const inPlace = (place: "path" | "query"): fc.Arbitrary<Record<string, string>> => {
    const fields = operation.parameters.filter((parameter) => parameter.in === place);
    const texts = fields.map(({ name, schema, required }) => {
      // A request that waits as long as it may would be all that there is time for.
      const good =
        name === "wait"
          ? fc.constantFrom("0", "1")
          : values.good(schema, name).map((value) => (Array.isArray(value) ? value.join(",") : String(value)));
      const any = place === "path" ? good : fc.oneof({ weight: 5, arbitrary: good }, fc.string({ maxLength: 20 }));
      return [name, required === true ? any : fc.option(any)];
    });
    return fc
      .record(Object.fromEntries(texts) as Record<string, fc.Arbitrary<string | null>>)
      .map((all) =>
        Object.fromEntries(Object.entries(all).flatMap(([name, text]) => (text === null ? [] : [[name, text]]))),
      );
  };
  const { body } = operation;
  const good = body === null ? fc.constant(undefined) : values.good(body.mediaType.schema);
  return fc.record({
    path: inPlace("path"),
    query: inPlace("query"),
    body: body === null ? good : fc.oneof(good, spoiled(good)),
    headers: HEADERS,
  });
}
