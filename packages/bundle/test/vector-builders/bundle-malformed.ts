/** Texts that are no bundle. */
import { formatBundle } from "../../src/index.ts";
import { NAMED } from "./bundle-named.ts";
import { bundleJson } from "./bundle-cases.ts";
import { changed } from "../../../../test/vector-builders/json.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";

/** A text, and the code that it is refused with. */
export type Malformed = readonly [name: string, error: string, text: string];

type Members = { readonly [name: string]: Json };

/** One event that names nothing. */
function smallest(): Json {
  const { bundle, world } = NAMED.whole;
  const subject = world.written[8];
  if (subject === undefined) throw new Error("no event");
  const { trustRoots } = bundle;
  return bundleJson({ ...world.cut({ subject, singles: [subject] }), trustRoots });
}

function badTexts(text: string): Malformed[] {
  const json = "bundle_json_invalid";
  const edit = (from: string | RegExp, to: string): string => {
    const edited = text.replace(from, to);
    if (edited === text) throw new Error(`nothing matches ${String(from)}`);
    return edited;
  };
  const nested = (depth: number): string =>
    edit('"stated":null', `"stated":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  return [
    ["no text", json, ""],
    ["spaces", json, "  \n"],
    ["cut in the middle", json, text.slice(0, text.length / 2)],
    ["no closing bracket", json, text.trimEnd().slice(0, -1)],
    ["something after it", json, `${text}{}`],
    ["a byte order mark", json, `\ufeff${text}`],
    ["a comma too many", json, edit(/\}\n$/, ",}\n")],
    ["single quotes", json, text.replaceAll('"', "'")],
    ["a comment", json, `// a bundle\n${text}`],
    ["a member twice", json, edit('"stated":null', '"stated":null,"stated":null')],
    ["the subject twice, the first one another", json, edit('"subject":', `"subject":"${"00".repeat(32)}","subject":`)],
    ["a member twice, once escaped", json, edit('"stated":null', '"stated":null,"st\\u0061ted":null')],
    ["a member of what is stated twice", json, edit('"stated":null', '"stated":{"a":1,"a":2}')],
    ["a number with a point", json, edit(/"time_ms":(\d+)/, '"time_ms":$1.0')],
    ["a number with an exponent", json, edit(/"time_ms":\d+/, '"time_ms":1e3')],
    ["a negative number", json, edit(/"time_ms":\d+/, '"time_ms":-1')],
    ["minus zero", json, edit(/"time_ms":\d+/, '"time_ms":-0')],
    ["a leading zero", json, edit(/"time_ms":(\d+)/, '"time_ms":0$1')],
    ["2^53", json, edit(/"time_ms":\d+/, '"time_ms":9007199254740992')],
    ["a number of 400 digits", json, edit(/"time_ms":\d+/, `"time_ms":${"9".repeat(400)}`)],
    ["NaN", json, edit(/"time_ms":\d+/, '"time_ms":NaN')],
    ["Infinity", json, edit(/"time_ms":\d+/, '"time_ms":Infinity')],
    ["a fraction in what is stated", json, edit('"stated":null', '"stated":{"a":0.5}')],
    ["nested too deep", json, nested(31)],
    ["nested without end", json, nested(10_000)],
    ["half of a surrogate pair", json, edit('"stated":null', '"stated":{"a":"\\ud800"}')],
    ["the halves of a surrogate pair in the wrong order", json, edit('"stated":null', '"stated":{"\\udc00\\ud800":1}')],
    ["a control character in a text", json, edit('"stated":null', '"stated":{"a":"\u0001"}')],
    ["another format", "bundle_format_unknown", edit("v4.2/bundle", "v4.3/bundle")],
    ["a format in capitals", "bundle_format_unknown", edit("v4.2/bundle", "V4.2/bundle")],
  ];
}

function notThere(members: Members): Malformed[] {
  const texts = Object.keys(members).map((name): Malformed => {
    const { [name]: _, ...others } = members;
    const error = name === "format" ? "bundle_format_unknown" : "bundle_malformed";
    return [`no ${name}`, error, JSON.stringify(others)];
  });
  return [
    ...texts,
    ["a list", "bundle_malformed", JSON.stringify([members])],
    ["null", "bundle_malformed", "null"],
    ["a text", "bundle_malformed", '"event-anchoring/v4.2/bundle"'],
    ["a member that nothing is known of", "bundle_malformed", JSON.stringify({ ...members, comment: "" })],
  ];
}

function badMembers(json: Json): Malformed[] {
  const set = (name: string, at: string, to: Json): Malformed => [
    `${at.slice(1)}: ${name}`,
    "bundle_malformed",
    JSON.stringify(changed(json, [at, to])),
  ];
  const range = { checkpoint: 0, from: 1, frontier: [], leaves: [] };
  const ranged = (change: object): Json => [{ ...range, ...change }] as Json;
  return [
    set("63 digits", "/subject", "0".repeat(63)),
    set("0x", "/subject", `0x${"0".repeat(62)}`),
    set("a final newline", "/subject", `${"0".repeat(64)}\n`),
    set("null", "/subject", null),
    set("a number", "/as_of", 9),
    set("a sequence that is a text", "/as_of", { sequence: "9", time_ms: 1 }),
    set("no time", "/as_of", { sequence: 9 }),
    set("a member more", "/as_of", { sequence: 9, time_ms: 1, time: "2026-01-01T00:00:00.000Z" }),
    set("null", "/as_of/sequence", null),
    set("a text", "/trust_roots", "event-anchoring/v4.2/trust-root"),
    set("a number in it", "/trust_roots", [1]),
    set("an object", "/checkpoints", {}),
    set("null in it", "/checkpoints", [null]),
    set("an object", "/leaves", {}),
    set("a text in it", "/leaves", ["AAAA"]),
    set("a member more", "/leaves/0", { leaf: "", checkpoint: 0, inclusion: [], index: 1 }),
    set("no base64", "/leaves/0/leaf", "%%%%"),
    set("base64 without padding", "/leaves/0/leaf", "AAA"),
    set("base64 with loose bits", "/leaves/0/leaf", "AAB="),
    set("base64 of the URL alphabet", "/leaves/0/leaf", "-_-_"),
    set("base64 with a newline", "/leaves/0/leaf", "AAAA\n"),
    set("no checkpoint", "/leaves/0/checkpoint", 1),
    set("a text", "/leaves/0/checkpoint", "0"),
    set("null", "/leaves/0/inclusion", null),
    set("31 bytes", "/leaves/0/inclusion/0", `${"A".repeat(40)}AA==`),
    set("33 bytes", "/leaves/0/inclusion/0", "A".repeat(44)),
    set("null", "/ranges", null),
    set("no frontier", "/ranges", [{ checkpoint: 0, from: 1, leaves: [] }]),
    set("a hash of 31 bytes", "/ranges", ranged({ frontier: [`${"A".repeat(40)}AA==`] })),
    set("no checkpoint", "/ranges", ranged({ checkpoint: 1 })),
    set("a leaf that is an object", "/ranges", ranged({ leaves: [{}] })),
    set("a text", "/stated", "authorised"),
    set("a list", "/stated", []),
    set("true", "/stated", true),
    set("a number", "/stated", 1),
  ];
}

function tooLarge(json: Json): Malformed[] {
  const set = (name: string, at: string, to: Json): Malformed => [
    name,
    "bundle_too_large",
    JSON.stringify(changed(json, [at, to])),
  ];
  const hash = `${"A".repeat(43)}=`;
  return [
    set(
      "a path of 54 hashes",
      "/leaves/0/inclusion",
      Array.from({ length: 54 }, () => hash),
    ),
    set(
      "1,001 trust roots",
      "/trust_roots",
      Array.from({ length: 1_001 }, () => ""),
    ),
    set(
      "1,025 checkpoints",
      "/checkpoints",
      Array.from({ length: 1_025 }, () => ""),
    ),
  ];
}

export function malformedBundles(): Malformed[] {
  const json = smallest();
  const text = `${JSON.stringify(json)}\n`;
  return [...badTexts(text), ...notThere(json as Members), ...badMembers(json), ...tooLarge(json)];
}

/** Other texts of the same bundle: spaces and the order of members mean nothing. */
export function equalTexts(): [name: string, text: string][] {
  const json = smallest();
  const members = json as Members;
  const reversed = Object.fromEntries(Object.entries(members).reverse());
  const { bundle } = NAMED.whole;
  const { subject } = members;
  if (typeof subject !== "string") throw new TypeError("the subject is a text");
  return [
    ["one line", `${JSON.stringify(json)}\n`],
    ["without a final newline", JSON.stringify(json)],
    ["indented", JSON.stringify(json, null, 4)],
    ["members in another order", JSON.stringify(reversed)],
    ["the subject in upper case", JSON.stringify(changed(json, ["/subject", subject.toUpperCase()]))],
    ["escaped", JSON.stringify(json).replace('"subject"', '"\\u0073ubject"')],
    ["a whole ledger", formatBundle(bundle)],
  ];
}
