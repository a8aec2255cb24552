import { BIT_FLIPS } from "./bit-flips.ts";
import { DAYS } from "./days.ts";
import type { Gate } from "./gate.ts";
import { HISTORIES } from "./histories.ts";
import { KILL_GATE } from "./kills.ts";
import { LIVES } from "./lives.ts";
import { MUTATIONS } from "./mutations.ts";
import { PLANTED } from "./planted-bugs.ts";
import { POWER_CUTS } from "./power-cuts.ts";
import { REQUESTS } from "./requests.ts";

export const GATES: readonly Gate[] = [
  LIVES,
  PLANTED,
  KILL_GATE,
  POWER_CUTS,
  HISTORIES,
  BIT_FLIPS,
  REQUESTS,
  MUTATIONS,
  DAYS,
];
