import { describe, expect, test } from "@jest/globals";
import { LIMITS, findJsonFault, jsonPointer, parseStrictJson } from "@event-anchoring/api-contract";

const objectOf = (keys: number): string => `{${Array.from({ length: keys }, (_, at) => `"k${at}":0`).join(",")}}`;
const listOf = (values: number): string => `[${Array.from({ length: values }, () => "0").join(",")}]`;
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

describe("what is accepted is what JSON.parse makes of it", () => {
  test.each([
    "null",
    "true",
    "0",
    "9007199254740991",
    ' { "a" : [ 1 , "x" , { } , [ ] ] , "b" : false } \n',
    '{"":1,"a/b~c":2}',
    '"\\u0041\\ud83d\\ude00\\n\\"\\\\\\/"',
    '"\u{1f600}"',
    '{"constructor":1,"prototype":2}',
    nested(LIMITS.jsonDepthMax),
    objectOf(LIMITS.jsonObjectKeysMax),
    listOf(LIMITS.jsonValuesMax - 1),
    `{"${"k".repeat(LIMITS.jsonKeyCharsMax)}":1}`,
    '["\\u00e9\u00e9\ud83d\ude00\\ud83d\\ude00"]',
  ])("%s", (text) => {
    expect(parseStrictJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
  });
});

describe("what is refused says where and why", () => {
  test.each([
    ["", "syntax", ""],
    [" ", "syntax", ""],
    ["{", "syntax", ""],
    ["[1", "syntax", "/0"],
    ["[1,]", "syntax", "/1"],
    ["{,}", "syntax", ""],
    ['{"a"}', "syntax", "/a"],
    ['{"a":}', "syntax", "/a"],
    ['{"a":1,}', "syntax", ""],
    ["{a:1}", "syntax", ""],
    ["nul", "syntax", ""],
    ["NaN", "syntax", ""],
    ["undefined", "syntax", ""],
    ["1 2", "syntax", ""],
    ["{}{}", "syntax", ""],
    ["// x\n1", "syntax", ""],
    ["\ufeff1", "syntax", ""],
    ["\u00a01", "syntax", ""],
    ["01", "syntax", ""],
    ["+1", "syntax", ""],
    ["'a'", "syntax", ""],
    ['"a', "syntax", ""],
    ['"a\\', "syntax", ""],
    ['"\\x41"', "syntax", ""],
    ['"\\u12"', "syntax", ""],
    ['"\\u00zz"', "syntax", ""],
    ['"a\nb"', "syntax", ""],
    ['"a\u0000b"', "syntax", ""],
    ["-1", "number_not_digits", ""],
    ["-0", "number_not_digits", ""],
    ['{"n":1.0}', "number_not_digits", "/n"],
    ['{"n":[1e3]}', "number_not_digits", "/n/0"],
    ["1E400", "number_not_digits", ""],
    ["-", "number_not_digits", ""],
    ["9007199254740992", "integer_unsafe", ""],
    ['{"n":99999999999999999999999999}', "integer_unsafe", "/n"],
    ['{"a":1,"a":1}', "duplicate_key", "/a"],
    ['{"a":1,"\\u0061":1}', "duplicate_key", "/a"],
    ['{"x":[{"b/c":1,"b/c":1}]}', "duplicate_key", "/x/0/b~1c"],
    ['{"__proto__":1}', "forbidden_key", "/__proto__"],
    ['{"a":{"\\u005f_proto__":{}}}', "forbidden_key", "/a/__proto__"],
    ['"\\ud800"', "lone_surrogate", ""],
    ['{"a":"\\udc00\\ud800"}', "lone_surrogate", "/a"],
    ['{"\\ud800":1}', "lone_surrogate", ""],
    ['"\ud800"', "lone_surrogate", ""],
    [nested(LIMITS.jsonDepthMax + 1), "too_deep", "/0".repeat(LIMITS.jsonDepthMax)],
    ["[".repeat(200_000), "too_deep", "/0".repeat(LIMITS.jsonDepthMax)],
    [`{"a":[${objectOf(LIMITS.jsonObjectKeysMax + 1)}]}`, "too_many_keys", "/a/0"],
    [`{"a":{"${"k".repeat(LIMITS.jsonKeyCharsMax + 1)}":1}}`, "key_too_long", "/a"],
    [listOf(LIMITS.jsonValuesMax), "too_many_values", `/${LIMITS.jsonValuesMax - 1}`],
    [`${'{"a":'.repeat(17)}1${"}".repeat(17)}`, "too_deep", "/a".repeat(LIMITS.jsonDepthMax)],
  ])("%j", (text, code, pointer) => {
    expect(findJsonFault(text)).toMatchObject({ code, pointer });
    expect(parseStrictJson(text).ok).toBe(false);
  });
});

test("whatever the scan accepts, JSON.parse accepts: every one-character change of a good text", () => {
  const text = '{"a":[1,"x\\n",{"b":null}],"c":true}';
  const tried = ['"', "\\", "{", "}", "[", "]", ",", ":", "1", "e", "-", ".", " ", "\n", "\u0000", "é"];
  for (let offset = 0; offset < text.length; offset++) {
    for (const character of tried) {
      const mutated = text.slice(0, offset) + character + text.slice(offset + 1);
      const isAccepted = findJsonFault(mutated) === null;
      expect(isAccepted && !canParse(mutated)).toBe(false);
    }
  }
});

function canParse(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("a pointer escapes its two special characters (RFC 6901)", () => {
  expect(jsonPointer(["a~b", "c/d", 0, ""])).toBe("/a~0b/c~1d/0/");
  expect(jsonPointer([])).toBe("");
});
