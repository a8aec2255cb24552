/** Scope documents, as programs use them. packages/bundle/test/scope.test.ts holds the vectors. */
import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { Scope, VerificationError, addScopes, inspectBundle, verifyBundle } from "../src/index.ts";
import { vectors } from "./vectors.ts";

const scope = Scope.make({ actions: ["refund"], max_amount: 5000, agreement: "ticket 4711" });

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof VerificationError) return error.code;
    throw error;
  }
  return "nothing thrown";
}

describe("a scope", () => {
  test("is made, disclosed in part, read and verified", () => {
    const shown = Scope.parse(scope.disclose(["max_amount"]).toText());
    expect([shown.statements, shown.withheld]).toEqual([{ max_amount: 5000 }, 2]);
    shown.verify(scope.scopeHash);
    shown.verify(Buffer.from(scope.scopeHash, "hex"));
    expect(Scope.parse(Buffer.from(shown.toText())).toJSON()).toEqual(shown.toJSON());
  });

  test("has other salts each time", () => {
    const again = Scope.make({ actions: ["refund"], max_amount: 5000, agreement: "ticket 4711" });
    expect(codeOf(() => again.verify(scope.scopeHash))).toBe("scope_not_granted");
  });

  test("is refused with the codes of the protocol", () => {
    const text = scope.toText();
    expect(codeOf(() => Scope.parse(text.replace("5000", "9000")))).toBe("scope_hash_differs");
    expect(codeOf(() => Scope.parse(Uint8Array.of(0xff)))).toBe("scope_json_invalid");
    expect(codeOf(() => Scope.parse(`${" ".repeat(1024 * 1024)}${text}`))).toBe("scope_too_large");
    expect(codeOf(() => Scope.make({ amount: 0.5 }))).toBe("scope_malformed");
    expect(codeOf(() => scope.disclose(["amount"]))).toBe("scope_name_unknown");
    expect(() => scope.verify("ab")).toThrow("scopeHash");
  });

  test("does not print its salts", () => {
    const [salt = ""] = /[0-9a-f]{64}(?=","actions)/u.exec(scope.toText()) ?? [];
    expect(salt).toHaveLength(64);
    expect(inspect(scope, { depth: 9, showHidden: true })).not.toContain(salt);
  });
});

describe("a bundle with disclosures", () => {
  interface Case {
    readonly name: string;
    readonly pinned_root_thk: string;
    readonly bundle: { readonly scopes: readonly object[] };
  }
  const { good } = vectors("bundle-scope") as { readonly good: readonly Case[] };
  const found = good.find(({ name }) => name === "scopes: nothing withheld");
  const whole = Scope.parse(JSON.stringify(found?.bundle.scopes[0]));
  const plain = JSON.stringify({ ...found?.bundle, scopes: [] });
  const pin = { pinnedRootThk: found?.pinned_root_thk };

  test("proves them, and says how many are withheld", () => {
    const { scopes } = verifyBundle(addScopes(plain, [whole.disclose(["currency"])]), pin);
    const statements = [{ name: "currency", value: "EUR" }];
    expect(scopes).toMatchObject([{ statements, withheld: 4, grants: [expect.any(Uint8Array)] }]);
  });

  test("has one of each scope_hash", () => {
    const text = addScopes(JSON.stringify(found?.bundle), [whole.disclose(["purpose"])]);
    expect(verifyBundle(text, pin).scopes).toMatchObject([{ withheld: 4 }]);
  });

  test("proves nothing of another grant's", () => {
    const text = addScopes(plain, [Scope.make({ currency: "EUR" })]);
    expect(codeOf(() => verifyBundle(text, pin))).toBe("bundle_invalid");
    expect(inspectBundle(text, pin).scopes).toEqual([]);
    expect(codeOf(() => addScopes("{}", []))).toBe("bundle_format_unknown");
  });
});
