/** What examples are made of: the records of one small ledger, as answers show them. */
import { LEAF_KIND, bytesToHex, nobleCrypto, receiptToJson } from "@event-anchoring/protocol";
import { anchorToJson } from "../anchor-json.ts";
import type { AnchorJson, ReceiptAnswer } from "../anchor-schema.ts";
import { formatRfc3339 } from "../rfc3339.ts";
import type { RecordStateName } from "../wire.ts";
import type { ExampleHead, ExampleLedger, ExampleRecord } from "./example-ledger.ts";

/** JSON, or the text of a body of another type. */
export interface Example {
  readonly summary: string;
  readonly value: unknown;
}

export interface RouteExamples {
  /** Values of parameters, by their names. */
  readonly parameters?: Readonly<Record<string, string | number | readonly string[]>>;
  readonly requests?: Readonly<Record<string, Example>>;
  /** By status. */
  readonly answers?: Readonly<Record<number, Readonly<Record<string, Example>>>>;
  /** Answers in another media type, by that type. */
  readonly texts?: Readonly<Record<string, string>>;
}

const { sha256 } = nobleCrypto;
export const TRUST_ROOT_VERSION = 1;

/** What examples are made of. */
export class Shown {
  readonly ledger: ExampleLedger;

  constructor(ledger: ExampleLedger) {
    this.ledger = ledger;
  }

  get origin(): string {
    return bytesToHex(this.ledger.origin);
  }

  id(record: ExampleRecord): string {
    return bytesToHex(this.ledger.id(record));
  }

  anchor(record: ExampleRecord, options: { state?: RecordStateName; isCommitted?: boolean } = {}): AnchorJson {
    const leaf = this.ledger.leaf(record);
    const isRecord = leaf.kind === LEAF_KIND.claim || leaf.kind === LEAF_KIND.grant;
    return anchorToJson({
      leaf,
      anchorId: this.ledger.id(record),
      finality: options.isCommitted === true ? "committed" : "certified",
      clientEvent: record === "event" ? { ...this.ledger.clientEvent, isErased: false } : null,
      state: isRecord ? (options.state ?? "active") : null,
    });
  }

  receipt(record: ExampleRecord, head: ExampleHead = this.ledger.heads.before): ReceiptAnswer {
    const { inclusion, ...rest } = receiptToJson(this.ledger.receipt(record, head), TRUST_ROOT_VERSION, sha256);
    return { ...rest, inclusion: [...inclusion] };
  }

  created(record: ExampleRecord): object {
    return { anchor: this.anchor(record), receipt: this.receipt(record), replayed: false };
  }

  /** The three good answers of a route that appends one record. */
  statuses(record: ExampleRecord, rest: object = {}): NonNullable<RouteExamples["answers"]> {
    const head = this.ledger.heads[record === "revocation" || record === "grantRevocation" ? "after" : "before"];
    const certified = { anchor: this.anchor(record), ...rest, receipt: this.receipt(record, head) };
    const committed = { anchor: this.anchor(record, { isCommitted: true }), ...rest, receipt: null };
    return {
      200: one("replay", "The same was recorded before", { ...certified, replayed: true }),
      201: one("created", "Durable, and co-signed", { ...certified, replayed: false }),
      202: one("committed", "Durable, and not yet co-signed", { ...committed, replayed: false }),
    };
  }

  asOf(sequence: number): object {
    const timeMs = this.ledger.heads.after.certifiedAtS * 1000;
    return { sequence, time_ms: timeMs, time: formatRfc3339(timeMs) };
  }

  get certifiedAt(): string {
    return formatRfc3339(this.ledger.heads.after.certifiedAtS * 1000);
  }
}

export function one(name: string, summary: string, value: unknown): Record<string, Example> {
  return { [name]: { summary, value } };
}

/** The fields of an anchor that its creation names. */
export function requestOf(anchor: AnchorJson, names: readonly string[]): Record<string, unknown> {
  const fields: Readonly<Record<string, unknown>> = anchor;
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

type CheckRow = readonly [code: string, result: "pass" | "fail" | "not_checked", detail: string];

export function checks(rows: readonly CheckRow[]): object[] {
  return rows.map(([code, result, detail]) => ({ code, result, detail }));
}

export function passes(codes: readonly string[], detail: string): CheckRow[] {
  return codes.map((code) => [code, "pass", detail]);
}

/** How far a list reaches. */
export function certifiedOf({ ledger }: Shown): object[] {
  return ledger.origins.map(({ originFingerprint, treeSize }) => ({
    origin_fingerprint: bytesToHex(originFingerprint),
    tree_size: treeSize,
  }));
}

export const TREE_CHECKS = ["leaf", "parent", "inclusion", "certificate"];

export function revocationOf(shown: Shown, record: "revocation" | "grantRevocation", target: ExampleRecord): object {
  return { anchor: shown.anchor(record), target_anchor_id: shown.id(target) };
}

export function hopOf(shown: Shown): object {
  const leaf = shown.ledger.leaf("grant");
  return {
    grant: shown.anchor("grant"),
    grantor_claim: shown.anchor("organisation"),
    grantee_claim: shown.anchor("agent"),
    witness_public_key: leaf.kind === LEAF_KIND.grant ? bytesToHex(leaf.witnessPublicKey) : null,
    witness_is_grantee: false,
  };
}
