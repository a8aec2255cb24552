/**
 * test/vectors/operator-act.json and state-tree.json, read as any other implementation reads them: bytes are put
 * together here from docs/PROTOCOL.md alone.
 */
import { createHash, createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { decodeCommand, encodeCommand, operatorActMessage } from "../src/index.ts";

type Field = string | number | null | readonly string[];
type Fields = Readonly<Record<string, Field>>;

interface ActVectors {
  readonly cluster_id: string;
  readonly operator: string;
  readonly seed: string;
  readonly public_key: string;
  readonly revoker: string;
  readonly acts: readonly {
    readonly name: string;
    readonly epoch: number;
    readonly counter: number;
    readonly command: Fields;
    readonly message: string;
    readonly signature: string;
    readonly act: string;
  }[];
}

interface StateVectors {
  readonly entries: readonly {
    readonly name: string;
    readonly kind: number;
    readonly id: string;
    readonly value: string;
    readonly key: string;
  }[];
  readonly root: string;
}

function load(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../test/vectors/${name}`, import.meta.url), "utf8"));
}

const TAG = "event-anchoring/v4.2/";
const SCOPES = ["read", "write", "revoke", "admin"];
const REASONS = ["unspecified", "key_compromise", "superseded", "cessation", "privilege_withdrawn", "issued_in_error"];

const number = (bytes: number, value: Field | undefined): string =>
  BigInt(Number(value))
    .toString(16)
    .padStart(bytes * 2, "0");
const hashOf = (hex: string): string => createHash("sha256").update(Buffer.from(hex, "hex")).digest("hex");
const tagged = (name: string): string => Buffer.from(`${TAG}${name}\0`).toString("hex");

/** Version 1, the kind, and the fields. */
function commandOf(fields: Fields): string {
  const hex = (name: string): string => String(fields[name] ?? "");
  switch (fields["kind"]) {
    case "create_api_key": {
      const label = Buffer.from(hex("label")).toString("hex");
      const scopes = SCOPES.reduce((bits, scope, at) => {
        const has = (fields["scopes"] as readonly string[]).includes(scope);
        return has ? bits | (1 << at) : bits;
      }, 0);
      const numbers = number(8, fields["expires_ms"]) + number(4, fields["requests_per_second"]);
      const key = hex("key_hash") + hex("api_client_id") + number(1, label.length / 2) + label;
      return `0104${key}${number(1, scopes)}${numbers}`;
    }
    case "revoke_api_key":
      return `010a${hex("key_id")}`;
    case "rotate_api_key":
      return [
        `010b${hex("key_id")}${hex("key_hash")}`,
        `${number(8, fields["overlap_ms"])}${number(8, fields["expires_ms"])}`,
      ].join("");
    case "record_revocation": {
      const flags = (fields["target_kind"] === "grant" ? 1 : 0) | (fields["origin_fingerprint"] === null ? 0 : 2);
      const target = hex("target_anchor_id") + hex("target_origin_fingerprint");
      const reason = number(1, REASONS.indexOf(hex("reason")));
      const times = number(8, fields["suspect_since"]) + number(8, fields["issued_at"]);
      return `010800${number(1, flags)}${target}${reason}${times}${hex("origin_fingerprint")}`;
    }
    case "erase_client_event":
      return `010900${hex("anchor_id")}`;
    default:
      throw new Error(`no such command: ${hex("kind")}`);
  }
}

describe("operators' acts", () => {
  const vectors = load("operator-act.json") as ActVectors;
  const name = number(2, vectors.operator.length) + Buffer.from(vectors.operator).toString("hex");
  const pkcs8 = Buffer.from(`302e020100300506032b657004220420${vectors.seed}`, "hex");
  const privateKey = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });

  test.each(vectors.acts.map((each) => [each.name, each] as const))("%s", (_, { epoch, counter, command, ...is }) => {
    const encoded = commandOf(command);
    const place = vectors.cluster_id + number(4, epoch);
    const message = tagged("operator-act") + place + name + number(8, counter) + encoded;
    expect(message).toBe(is.message);
    const signature = sign(null, Buffer.from(message, "hex"), privateKey).toString("hex");
    expect(signature).toBe(is.signature);
    expect(`010d${name}${number(8, counter)}${signature}${encoded}`).toBe(is.act);
  });

  test.each(vectors.acts.map((each) => [each.name, each] as const))(
    "%s, as the ledger reads it",
    (_, { epoch, ...is }) => {
      const act = decodeCommand(hexToBytes(is.act));
      if (act.kind !== "operator_act") throw new Error(`it is a ${act.kind}`);
      expect([act.operator, act.counter, bytesToHex(encodeCommand(act))]).toEqual([
        vectors.operator,
        is.counter,
        is.act,
      ]);
      const message = operatorActMessage({ clusterId: hexToBytes(vectors.cluster_id), epoch }, act, act.command);
      expect(bytesToHex(message)).toBe(is.message);
      expect(nodeCrypto.ed25519Verify(hexToBytes(vectors.public_key), message, act.signature)).toBe(true);
    },
  );

  test("the revoker of what this operator revokes", () => {
    expect(hashOf(tagged("operator") + vectors.public_key)).toBe(vectors.revoker);
  });
});

describe("the state tree", () => {
  const { entries, root } = load("state-tree.json") as StateVectors;

  test.each(entries)("$name", ({ kind, id, key }) => {
    expect(hashOf(tagged("state-key") + number(1, kind) + id)).toBe(key);
  });

  /** As 256 digits, 0 and 1. */
  const bitsOf = (key: string): string => BigInt(`0x${key}`).toString(2).padStart(256, "0");

  /** The root over the keys that have these first bits. */
  function subtree(prefix: string): string {
    const below = entries.filter(({ key }) => bitsOf(key).startsWith(prefix));
    const [only] = below;
    if (only === undefined) return "00".repeat(32);
    if (below.length === 1) return hashOf(tagged("state-leaf") + only.key + hashOf(only.value));
    return hashOf(tagged("state-interior") + subtree(`${prefix}0`) + subtree(`${prefix}1`));
  }

  test("has the root that its keys and values make", () => {
    expect(subtree("")).toBe(root);
  });
});
