import { readFileSync } from "node:fs";
import { parseSync } from "@swc/core";

/** What the tidy rules ask of one TypeScript file, read from its syntax tree. Lines count from 1. */
export interface SyntaxFacts {
  readonly imports: readonly { specifier: string; line: number; isTypeOnly: boolean }[];
  readonly functions: readonly { name: string; line: number; lineCount: number }[];
  /** Names this file gives: variables, parameters, functions, classes, members, types, fields. */
  readonly declared: readonly { name: string; line: number }[];
  /** Constructs by name, as the rules call them: `async`, `await`, `Promise`, `Date`, `Math.random`, `any`, … */
  readonly constructs: readonly { name: string; line: number }[];
}

interface Node {
  readonly type?: string;
  readonly span?: { readonly start: number; readonly end: number };
  readonly [key: string]: unknown;
}

type Mutable<Facts> = {
  -readonly [Key in keyof Facts]: Facts[Key] extends readonly (infer Item)[] ? Item[] : never;
};

const FUNCTION_TYPES = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "ClassMethod",
  "PrivateMethod",
  "Constructor",
  "MethodProperty",
  "GetterProperty",
  "SetterProperty",
]);

/** Where a node of this type puts the name that it declares. */
const DECLARING_KEYS: Readonly<Record<string, readonly string[]>> = {
  FunctionDeclaration: ["identifier"],
  ClassDeclaration: ["identifier"],
  TsInterfaceDeclaration: ["id"],
  TsTypeAliasDeclaration: ["id"],
  VariableDeclarator: ["id"],
  Parameter: ["pat"],
  ArrowFunctionExpression: ["params"],
  ClassMethod: ["key"],
  PrivateMethod: ["key"],
  ClassProperty: ["key"],
  PrivateProperty: ["key"],
  MethodProperty: ["key"],
  TsPropertySignature: ["key"],
  TsMethodSignature: ["key"],
  CatchClause: ["param"],
};

const NAMED_CONSTRUCTS: Readonly<Record<string, string>> = {
  AwaitExpression: "await",
  TsEnumDeclaration: "enum",
  TsModuleDeclaration: "namespace",
  TsParameterProperty: "parameter property",
  ExportDefaultDeclaration: "default export",
  ExportDefaultExpression: "default export",
  TsExportAssignment: "default export",
  ExportAllDeclaration: "export *",
};

const NAMED_MEMBERS: ReadonlySet<string> = new Set(["Math.random", "AbortSignal.any"]);

/** @throws if the file is not TypeScript */
export function readSyntax(path: string): SyntaxFacts {
  const bytes = readFileSync(path);
  const lineStarts = [0];
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lineStarts.push(at + 1);
  const facts: Mutable<SyntaxFacts> = { imports: [], functions: [], declared: [], constructs: [] };
  const options = { syntax: "typescript", tsx: path.endsWith(".tsx"), target: "es2022" } as const;
  const tree = parseSync(bytes.toString("utf8"), options) as unknown as Node;
  visit(tree, null, "", { facts, lineOf: (offset) => lineAt(lineStarts, offset - 1) });
  return facts;
}

interface Visit {
  readonly facts: Mutable<SyntaxFacts>;
  /** Offsets of the parser count bytes from 1. */
  readonly lineOf: (offset: number) => number;
}

function lineAt(lineStarts: readonly number[], offset: number): number {
  let [low, high] = [0, lineStarts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((lineStarts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null;
}

function visit(node: Node, parent: Node | null, key: string, context: Visit): void {
  if (typeof node.type === "string" && node.span !== undefined) {
    const line = context.lineOf(node.span.start);
    noteImport(node, line, context);
    noteFunction(node, parent, line, context);
    noteConstruct(node, parent, key, line, context);
    for (const declaring of DECLARING_KEYS[node.type] ?? []) noteNames(node[declaring], context);
  }
  // Wrappers without a type of their own (an argument, a method's function) pass their owner on.
  const owner = typeof node.type === "string" ? node : parent;
  for (const [childKey, child] of Object.entries(node)) {
    if (Array.isArray(child)) {
      for (const item of child) if (isNode(item)) visit(item, owner, childKey, context);
    } else if (isNode(child) && childKey !== "span") {
      visit(child, owner, childKey, context);
    }
  }
}

function noteImport(node: Node, line: number, { facts }: Visit): void {
  const add = (source: unknown, isTypeOnly: boolean): void => {
    if (isNode(source) && typeof source["value"] === "string") {
      facts.imports.push({ specifier: source["value"], line, isTypeOnly });
    }
  };
  if (node.type === "ImportDeclaration" || node.type === "ExportNamedDeclaration") {
    const specifiers = Array.isArray(node["specifiers"]) ? (node["specifiers"] as Node[]) : [];
    const areTypes = specifiers.length > 0 && specifiers.every((specifier) => specifier["isTypeOnly"] === true);
    add(node["source"], node["typeOnly"] === true || areTypes);
  } else if (node.type === "ExportAllDeclaration") {
    add(node["source"], false);
  } else if (node.type === "TsImportType") {
    add(node["argument"], true);
  } else if (node.type === "CallExpression" && isNode(node["callee"]) && node["callee"].type === "Import") {
    const first: unknown = (node["arguments"] as { expression: unknown }[])[0]?.expression;
    add(first, false);
  }
}

function noteFunction(node: Node, parent: Node | null, line: number, { facts, lineOf }: Visit): void {
  if (!FUNCTION_TYPES.has(node.type ?? "") || node.span === undefined) return;
  // A `describe` groups tests; its length is that of the group.
  if (parent?.type === "CallExpression" && calleeRoot(parent["callee"]) === "describe") return;
  const name = nameOf(node["identifier"]) ?? nameOf(node["key"]) ?? nameOf(parent?.["id"]) ?? "a function";
  facts.functions.push({ name, line, lineCount: lineOf(node.span.end - 1) - line + 1 });
}

function calleeRoot(callee: unknown): string | null {
  let at = callee;
  while (isNode(at) && at.type !== "Identifier") at = at["object"] ?? at["callee"] ?? at["tag"];
  return nameOf(at);
}

function nameOf(node: unknown): string | null {
  if (!isNode(node)) return null;
  return typeof node["value"] === "string" ? node["value"] : nameOf(node["id"]);
}

function noteConstruct(node: Node, parent: Node | null, key: string, line: number, { facts }: Visit): void {
  const add = (name: string): void => {
    facts.constructs.push({ name, line });
  };
  const named = NAMED_CONSTRUCTS[node.type ?? ""];
  if (named !== undefined) add(named);
  if (node["async"] === true || (isNode(node["function"]) && node["function"]["async"] === true)) add("async");
  if (node.type === "ForOfStatement" && node["await"] === true) add("await");
  if (node.type === "TsKeywordType" && node["kind"] === "any") add("any");
  const name = nameOf(node);
  const isMemberName = key === "property" || key === "key";
  if (node.type === "Identifier" && !isMemberName && (name === "Promise" || name === "Date")) add(name);
  const member = `${nameOf(parent?.["object"])}.${name}`;
  if (node.type === "Identifier" && key === "property" && NAMED_MEMBERS.has(member)) add(member);
}

/** The names in a declared pattern: one identifier, or all that a destructuring introduces. */
function noteNames(pattern: unknown, context: Visit): void {
  if (Array.isArray(pattern)) {
    for (const item of pattern) noteNames(item, context);
    return;
  }
  if (!isNode(pattern)) return;
  if ((pattern.type === "Identifier" || pattern.type === "PrivateName") && pattern.span !== undefined) {
    const name = nameOf(pattern);
    if (name !== null) context.facts.declared.push({ name, line: context.lineOf(pattern.span.start) });
    return;
  }
  if (pattern.type === "ObjectPattern" || pattern.type === "ArrayPattern") {
    noteNames(pattern["properties"] ?? pattern["elements"], context);
  } else if (pattern.type === "KeyValuePatternProperty") noteNames(pattern["value"], context);
  else if (pattern.type === "AssignmentPatternProperty") noteNames(pattern["key"], context);
  else if (pattern.type === "AssignmentPattern") noteNames(pattern["left"], context);
  else if (pattern.type === "RestElement") noteNames(pattern["argument"], context);
}
