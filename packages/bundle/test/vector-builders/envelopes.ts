/** Envelopes: how they are written and hashed, and texts and members that are refused. */
import { bytesToHex, utf8ToBytes } from "@event-anchoring/protocol";
import { ENVELOPE_FORMAT, formatEnvelope } from "../../src/index.ts";
import type { Envelope, JsonContent } from "../../src/index.ts";
import { hashOf, sha256 } from "../../../../test/vector-builders/keys.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";

const hex = (content: string): string => bytesToHex(hashOf(content));

/** What most cases are about. */
const CALL: Envelope = {
  what: "tool.call",
  when: "2026-11-23T10:00:00.000Z",
  who: "billing-agent",
  contentType: "application/json",
  content: { json: { tool: "refund", arguments: { order: "4711", amount: 19.5 } } },
  attachments: [],
  salt: null,
};

const json = (value: JsonContent): Envelope => ({ ...CALL, content: { json: value } });

const ATTACHMENT = { name: "invoice.pdf", contentType: "application/pdf", size: 48_213, hash: hex("invoice") };

function nested(depth: number): JsonContent {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

/** RFC 8785 Appendix B, without what is refused here; and the edges of that. */
const NUMBERS = [
  0, -0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 9007199254740991, -9007199254740991, 1e21,
  9.999999999999997e22, 1e23, 1.0000000000000001e23, -1e21, 0.000001, 9.999999999999997e-7, 333333333.3333332,
  333333333.33333325, 333333333.3333333, -0.0000033333333333333333, 1424953923781206.25, 4.5, 0.002, 1e-27,
  6.02214076e23,
];

function ieeeOf(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return bytesToHex(new Uint8Array(view.buffer));
}

const TEXTS = {
  controls: "\u0000\u0001\b\t\n\u000b\f\r\u001f\u007f\u0080",
  escapes: 'a "quoted" \\ and a / slash, and \\ud800 written out',
  format: "\u200b\u202e\u2028\u2029\ufeff",
  unicode: "Grüße, 世界, 😀, e\u0301 is not \u00e9",
  empty: "",
};

const NAMES = { "": [], "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7 };

function goodCases(): readonly (readonly [string, Envelope])[] {
  const many = Array.from({ length: 64 }, (_, at) => ({ ...ATTACHMENT, name: `page-${at}` }));
  return [
    ["a tool call", CALL],
    ["nobody named", { ...CALL, who: null }],
    ["salted", { ...CALL, salt: hex("salt") }],
    ["content apart", { ...CALL, contentType: "image/png", content: { hash: hex("image"), size: 12_345 } }],
    ["an attachment", { ...CALL, attachments: [ATTACHMENT] }],
    ["64 attachments", { ...CALL, attachments: many }],
    ["every member", { ...CALL, attachments: [ATTACHMENT], salt: hex("salt") }],
    ["empty content apart", { ...CALL, contentType: "text/plain", content: { hash: hex(""), size: 0 } }],
    ["null", json(null)],
    ["false", json(false)],
    ["an empty text", json("")],
    ["an empty list", json([])],
    ["an empty object", json({})],
    ["texts", json(TEXTS)],
    ["names in the order of UTF-16", json(NAMES)],
    ["a name as of a prototype", json(JSON.parse('{"__proto__":1,"constructor":2}') as JsonContent)],
    ["numbers", json(NUMBERS)],
    ["nested 64 deep", json(nested(63))],
    ["another JSON type", { ...CALL, contentType: "application/cloudevents+json; charset=utf-8" }],
    ["what of 256 characters beyond the basic plane", { ...CALL, what: "😀".repeat(256) }],
    ["the first time", { ...CALL, when: "1970-01-01T00:00:00.000Z" }],
    ["the last time", { ...CALL, when: "9999-12-31T23:59:59.999Z" }],
    ["a leap day", { ...CALL, when: "2000-02-29T00:00:00.001Z" }],
  ];
}

function good(): Json {
  return goodCases().map(([name, envelope]) => {
    const text = formatEnvelope(envelope);
    return { name, text, event_hash: bytesToHex(sha256(utf8ToBytes(text))) };
  });
}

/** A text, and the code that it is refused with. */
type Bad = readonly [name: string, error: string, text: string];

function badTexts(text: string): Bad[] {
  const invalid = "envelope_json_invalid";
  const other = "envelope_not_canonical";
  const unsafe = "envelope_number_unsafe";
  const edit = (from: string, to: string): string => {
    const edited = text.replace(from, to);
    if (edited === text) throw new Error(`nothing matches ${from}`);
    return edited;
  };
  return [
    ["no text", invalid, ""],
    ["cut in the middle", invalid, text.slice(0, text.length / 2)],
    ["something after it", invalid, `${text}{}`],
    ["a byte order mark", invalid, `\ufeff${text}`],
    ["NaN", invalid, edit("19.5", "NaN")],
    ["Infinity", invalid, edit("19.5", "Infinity")],
    ["beyond the doubles", invalid, edit("19.5", "1e400")],
    ["a leading zero", invalid, edit("19.5", "019.5")],
    ["half of a surrogate pair", invalid, edit("4711", "\\ud800")],
    ["half of a surrogate pair in a name", invalid, edit("order", "\\udc00")],
    ["a control character in a text", invalid, edit("4711", "\u0001")],
    ["a list", "envelope_format_unknown", `[${text}]`],
    ["null", "envelope_format_unknown", "null"],
    ["a number", "envelope_format_unknown", "9007199254740992"],
    ["another format", "envelope_format_unknown", edit("v4.2/envelope", "v4.3/envelope")],
    ["the format of a scope", "envelope_format_unknown", edit("v4.2/envelope", "v4.2/scope")],
    ["2^53", unsafe, edit("19.5", "9007199254740992")],
    ["2^53 + 1", unsafe, edit("19.5", "9007199254740993")],
    ["-2^53", unsafe, edit("19.5", "-9007199254740992")],
    ["10^20", unsafe, edit("19.5", "100000000000000000000")],
    ["10^20 with an exponent", unsafe, edit("19.5", "1e20")],
    ["a newline at the end", other, `${text}\n`],
    ["a space", other, edit(":", ": ")],
    ["members in another order", other, edit('"amount":19.5,"order":"4711"', '"order":"4711","amount":19.5')],
    ["a member twice", other, edit('"who":', '"who":"x","who":')],
    ["a member of content twice", other, edit('"amount":19.5', '"amount":19.5,"amount":19.5')],
    ["an escape that is not needed", other, edit("refund", "ref\\u0075nd")],
    ["an escaped slash", other, edit("refund", "ref\\/und")],
    ["an escaped pair", other, edit("refund", "\\ud83d\\ude00")],
    ["a number with a zero behind", other, edit("19.5", "19.50")],
    ["a number with an exponent", other, edit("19.5", "195e-1")],
    ["minus zero", other, edit("19.5", "-0")],
    ["an integer as a fraction", other, edit("19.5", "19.0")],
    ["10^22 in digits", other, edit("19.5", "10000000000000000000000")],
    ["too many digits", other, edit("19.5", "0.1000000000000000055511151231257827")],
  ];
}

/** Members that no envelope has; a writer refuses those that it can be given. */
function badMembers(): readonly (readonly [string, { readonly [name: string]: Json | undefined }])[] {
  const [hash, size] = [hex("image"), 12_345];
  const attachment = { content_type: "application/pdf", hash, name: "a", size };
  const apart = { content: undefined, content_hash: hash, content_size: size, content_type: "image/png" };
  const list = (...changes: readonly { readonly [name: string]: Json }[]): { readonly attachments: Json } => ({
    attachments: changes.map((change) => ({ ...attachment, ...change })),
  });
  return [
    ["an unknown member", { why: "because" }],
    ["no what", { what: undefined }],
    ["an empty what", { what: "" }],
    ["what is a number", { what: 1 }],
    ["what of 257 characters", { what: "😀".repeat(257) }],
    ["a control character in what", { what: "tool\ncall" }],
    ["a C1 control character in what", { what: "tool\u009bcall" }],
    ["no when", { when: undefined }],
    ["when without milliseconds", { when: "2026-11-23T10:00:00Z" }],
    ["when with an offset", { when: "2026-11-23T10:00:00.000+00:00" }],
    ["when in lower case", { when: "2026-11-23t10:00:00.000z" }],
    ["a day that is not in the calendar", { when: "2026-02-29T10:00:00.000Z" }],
    ["no leap year", { when: "2100-02-29T10:00:00.000Z" }],
    ["month 13", { when: "2026-13-01T10:00:00.000Z" }],
    ["day 0", { when: "2026-12-00T10:00:00.000Z" }],
    ["hour 24", { when: "2026-11-23T24:00:00.000Z" }],
    ["a leap second", { when: "2016-12-31T23:59:60.000Z" }],
    ["before 1970", { when: "1969-12-31T23:59:59.999Z" }],
    ["digits of another script", { when: "2026-11-2٣T10:00:00.000Z" }],
    ["who is null", { who: null }],
    ["an empty who", { who: "" }],
    ["who of 257 characters", { who: "x".repeat(257) }],
    ["no content_type", { content_type: undefined }],
    ["content_type is no media type", { content_type: "json" }],
    ["content_type with a space in front", { content_type: " application/json" }],
    ["content_type of 257 characters", { content_type: `application/json;${"x".repeat(240)}` }],
    ["JSON content of another type", { content_type: "text/plain" }],
    ["no content", { content: undefined }],
    ["content and content apart", { ...apart, content: 1, content_type: "application/json" }],
    ["content_hash without a size", { ...apart, content_size: undefined }],
    ["content_size without a hash", { ...apart, content_hash: undefined }],
    ["content_hash in upper case", { ...apart, content_hash: hash.toUpperCase() }],
    ["content_hash of 62 digits", { ...apart, content_hash: hash.slice(2) }],
    ["a negative size", { ...apart, content_size: -1 }],
    ["half a byte", { ...apart, content_size: 0.5 }],
    ["a size as a text", { ...apart, content_size: "1" }],
    ["content_hash is null", { ...apart, content_hash: null }],
    ["salt is null", { salt: null }],
    ["a salt of 31 bytes", { salt: hash.slice(2) }],
    ["a salt in upper case", { salt: "AB".repeat(32) }],
    ["attachments are null", { attachments: null }],
    ["no attachment in the list", { attachments: [] }],
    ["an attachment is a text", { attachments: ["a"] }],
    ["65 attachments", list(...Array.from({ length: 65 }, (_, at) => ({ name: `a${at}` })))],
    ["two attachments of one name", list({}, {})],
    ["an unknown member of an attachment", list({ url: "https://example.com" })],
    ["an attachment without a hash", { attachments: [{ content_type: "application/pdf", name: "a", size }] }],
    ["an attachment without a name", list({ name: "" })],
    ["an attachment with a negative size", list({ size: -1 })],
    ["an attachment without a media type", list({ content_type: "pdf" })],
  ];
}

/** Canonical, whatever its members are. */
function canonicalOf(members: { readonly [name: string]: Json | undefined }): string {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return JSON.stringify(Object.fromEntries(given.sort(([a], [b]) => (a < b ? -1 : 1))));
}

function bad(): Json {
  const text = formatEnvelope(CALL);
  const members = JSON.parse(text) as { readonly [name: string]: Json };
  const texts = badTexts(text).map(([name, error, refused]) => ({ name, error, text: refused }));
  const changed = badMembers().map(([name, change]) => {
    return { name, error: "envelope_malformed", text: canonicalOf({ ...members, ...change }) };
  });
  return [...texts, ...changed];
}

/** Bytes that are no UTF-8 text. */
function badBytes(): Json {
  const text = formatEnvelope(CALL);
  const [before = "", after = ""] = text.split("4711").map((part) => bytesToHex(utf8ToBytes(part)));
  return [
    { name: "a stray continuation byte", error: "envelope_json_invalid", hex: `${before}80${after}` },
    { name: "an overlong form", error: "envelope_json_invalid", hex: `${before}c0af${after}` },
    { name: "half of a surrogate pair as bytes", error: "envelope_json_invalid", hex: `${before}eda080${after}` },
  ];
}

/** Texts of a megabyte, as pieces that are repeated. */
function long(): Json {
  const [before = "", after = ""] = formatEnvelope(json("4711")).split("4711");
  const room = 1024 * 1024 - before.length - after.length;
  const pieces = (...all: readonly (readonly [string, number])[]): Json => all.map((piece) => [...piece]);
  const nest = (depth: number): Json =>
    pieces([before.slice(0, -1), 1], ["[", depth], ["]", depth], [after.slice(1), 1]);
  return [
    { name: "1 MiB", error: null, pieces: pieces([before, 1], ["x", room], [after, 1]) },
    { name: "1 MiB and a byte", error: "envelope_too_large", pieces: pieces([before, 1], ["x", room + 1], [after, 1]) },
    { name: "nested 64 deep", error: null, pieces: nest(63) },
    { name: "nested 65 deep", error: "envelope_too_large", pieces: nest(64) },
    { name: "nested without end", error: "envelope_too_large", pieces: pieces(["[", 500_000]) },
    { name: "brackets in a text", error: null, pieces: pieces([before, 1], ["[", 1_000], [after, 1]) },
  ];
}

export function envelopeVectors(): Json {
  return {
    about:
      "Envelopes. good: `text` is read, its members written again make the same `text`, and its SHA-256 is " +
      "`event_hash`. numbers: the double whose bits are `ieee754` is written as `text`. unsafe_numbers: it is " +
      "refused. bad: `text` is refused with `error`; bad_bytes: so are these bytes. long: the same of a text that " +
      "is made of pieces, each repeated; null: it is read.",
    format: ENVELOPE_FORMAT,
    good: good(),
    numbers: NUMBERS.map((value) => ({ ieee754: ieeeOf(value), text: String(value) })),
    unsafe_numbers: [2 ** 53, -(2 ** 53), 2 ** 63, 1e20, 999999999999999900000].map(ieeeOf),
    bad: bad(),
    bad_bytes: badBytes(),
    long: long(),
  };
}
