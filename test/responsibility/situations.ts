/** What a history has asked about: one that never meets a situation proves nothing about it. */
import type { Authority, Verification } from "./expected-answers.ts";

export function meetVerification(kind: "claim" | "grant", { valid, failing }: Verification, met: Set<string>): void {
  if (valid) met.add(`a ${kind} that is valid`);
  for (const code of failing) met.add(`${code} fails`);
}

export function meetTrace(trace: Authority, met: Set<string>): void {
  const { authorisedAtAction, authorisedNow, delegation, possibleParents, revocations, isSuspect } = trace;
  const words = new Map<boolean | "unknown", string>([
    [true, "authorised"],
    [false, "not authorised"],
    ["unknown", "unknown"],
  ]);
  met.add(`${words.get(authorisedAtAction)} at action`);
  if (authorisedAtAction === true && authorisedNow === false) met.add("authorised at action, not now");
  met.add(`a chain of ${delegation.length}`);
  if (possibleParents.length > 0) met.add("possible parents");
  if (revocations.length > 0) met.add("revocations on the way");
  if (authorisedAtAction === true) met.add(`authorised, ${trace.isActorProven ? "" : "not "}signed`);
  if (isSuspect) met.add("suspect");
  if (trace.isForeignKey) met.add("a foreign key");
}
