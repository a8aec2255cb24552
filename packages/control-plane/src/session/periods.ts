/** How often a session does what it does by the clock, milliseconds. */
export const PERIOD_MS = {
  tick: 100,
  /** Deadlines are looked at this often; an answer is late by no more. */
  sweep: 25,
  resendUncovered: 50,
  resendState: 1000,
  clockReport: 1000,
  leaderLook: 500,
  membershipLook: 250,
  upkeep: 250,
  /** What peers have said of their logs is durable after this long, also if nothing else is written. */
  savePeers: 1000,
} as const;
