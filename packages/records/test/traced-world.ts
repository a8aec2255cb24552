/** A delegation and an act under it, as they are traced. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { rememberVerdicts, traceEvent } from "../src/index.ts";
import type { Trace, TraceInput } from "../src/index.ts";
import type { LeafWrite } from "@event-anchoring/ledger";
import { History } from "./history.ts";
import { event } from "../../../test/worlds/ledger-harness.ts";
import { acting } from "../../../test/worlds/signed-records.ts";
import type { Party } from "../../../test/worlds/signed-records.ts";

export const crypto = rememberVerdicts(nodeCrypto);

/** root → deployer → agent, who acts. */
export interface World {
  readonly history: History;
  readonly root: Party;
  readonly deployer: Party;
  readonly agent: Party;
  readonly upper: LeafWrite;
  readonly lower: LeafWrite;
  readonly act: LeafWrite;
}

export function worldOf(between: (world: Omit<World, "act">) => void = () => {}): World {
  const history = new History();
  const [root, deployer, agent] = [history.claim("root"), history.claim("deployer"), history.claim("agent")];
  const upper = history.grant(root, deployer, { delegationDepth: 5 });
  const lower = history.grant(deployer, agent, { delegationDepth: 2, parent: upper });
  const before = { history, root, deployer, agent, upper, lower };
  between(before);
  const act = history.event(event("act", { semanticAnchor: acting(agent.claim, lower) }));
  return { ...before, act };
}

export function traced(history: History, anchor: LeafWrite, more: Partial<TraceInput> = {}): Trace {
  return traceEvent(history.traceInput(anchor, more), crypto);
}

export function reasonsOf(trace: Trace): string[] {
  return trace.reasons.map(({ verdict, code }) => `${verdict} ${code}`);
}

export function violationsOf(trace: Trace): string[] {
  return trace.violations.map(({ code }) => code);
}
