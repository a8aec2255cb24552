import type { Nemesis, Roles } from "./nemesis.ts";

const HOUR_MS = 3_600_000;

/** The wall clock of one node jumps, its monotonic clock does not. */
function clockJumps(name: string, offsetMs: number, who: (roles: Roles) => readonly string[]): Nemesis {
  return {
    name,
    missing: ({ switchesMissing }) => switchesMissing,
    inject: async ({ switches }, roles) => {
      const processes = who(roles).flatMap((id) => [`${id} control_plane`, `${id} api`]);
      for (const process of processes) switches?.setClock(process, offsetMs);
      return async () => {
        for (const process of processes) switches?.setClock(process, 0);
      };
    },
  };
}

export const CLOCK_NEMESES: readonly Nemesis[] = [
  clockJumps("the leader's clock is an hour ahead", HOUR_MS, ({ leader }) => [leader]),
  clockJumps("the leader's clock is two hours behind", -2 * HOUR_MS, ({ leader }) => [leader]),
  clockJumps("a follower's clock is an hour ahead", HOUR_MS, ({ followers: [follower] }) => [follower]),
  clockJumps("a follower's clock is two hours behind", -2 * HOUR_MS, ({ followers: [follower] }) => [follower]),
  clockJumps("the leader's clock is four seconds ahead", 4000, ({ leader }) => [leader]),
  clockJumps("both followers' clocks are an hour behind", -HOUR_MS, ({ followers }) => followers),
];
