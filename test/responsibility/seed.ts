/**
 * Where a random history begins: always the same, so that a run says something about the change at hand.
 * HISTORY_SEED=7 looks elsewhere, HISTORY_SEED=random somewhere new each time; the seed is printed.
 */
export function historySeed(): number {
  const wanted = process.env["HISTORY_SEED"] ?? "1";
  return wanted === "random" ? Math.floor(Math.random() * 2 ** 31) : Number(wanted);
}
