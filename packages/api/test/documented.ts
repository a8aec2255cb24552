/** Holds every answer of every test against the row of its route: no undocumented status, problem, type or shape. */
import {
  COMMON_PROBLEMS,
  EXTENDED_PROBLEMS,
  PROBLEMS,
  ROUTES,
  isProblemCode,
  problemSchema,
  refusedBatchSchema,
} from "@event-anchoring/api-contract";
import type { Route } from "@event-anchoring/api-contract";
import type { Answer } from "./api-harness.ts";

const PROBLEM_TYPE = "application/problem+json";

function matches({ method, path, isTail }: Route, wantedMethod: string, wantedPath: string): boolean {
  const escaped = path.replaceAll(/[.:]/g, "\\$&");
  const tailed = isTail ? escaped.replace(/\{[a-z_]+\}$/, ".+") : escaped;
  const pattern = tailed.replaceAll(/\{[a-z_]+\}/g, "[^/]+");
  return method === wantedMethod && new RegExp(`^${pattern}$`).test(wantedPath);
}

/** The row that serves a request target; null: there is none. The first that matches, as in the router. */
export function routeFor(method: string, target: string): Route | null {
  const [path = ""] = target.split("?");
  return ROUTES.find((route) => matches(route, method, path)) ?? null;
}

function problemSchemaOf(code: string) {
  if (code === "batch_refused") return refusedBatchSchema;
  return Object.entries(EXTENDED_PROBLEMS).find(([name]) => name === code)?.[1] ?? problemSchema;
}

function assertProblem({ id, problems }: Route, { status, json }: Answer): void {
  const { code } = json;
  if (!isProblemCode(code)) throw new Error(`${id} answered with the unknown problem ${String(code)}`);
  if (![...problems, ...COMMON_PROBLEMS].includes(code)) throw new Error(`${id} does not say that it answers ${code}`);
  problemSchemaOf(code).parse(json);
  if (status !== PROBLEMS[code].status) throw new Error(`${id} answered ${code} with ${status}`);
}

function assertGood({ id, answers, mediaTypes }: Route, { status, headers, json }: Answer): void {
  const type = String(headers["content-type"]).replace("; charset=utf-8", "");
  if (!Object.hasOwn(answers, status)) throw new Error(`${id} does not say that it answers ${status}`);
  if (mediaTypes.includes(type)) return;
  if (type !== "application/json") throw new Error(`${id} does not say that it answers ${type}`);
  answers[status]?.parse(json);
}

/** JSON is written by hand in places, and is what `JSON.stringify` would have written. */
function assertPlainJson({ headers, json, text }: Answer): void {
  if (!/^application\/(problem\+)?json(;|$)/.test(String(headers["content-type"]))) return;
  if (JSON.stringify(json) !== text) throw new Error(`not as JSON.stringify writes it: ${text}`);
}

/** @throws Error, ZodError */
export function assertDocumented(method: string, target: string, answer: Answer): void {
  const route = routeFor(method, target);
  if (route === null) return;
  assertPlainJson(answer);
  if (answer.headers["content-type"] === PROBLEM_TYPE) assertProblem(route, answer);
  else assertGood(route, answer);
}
