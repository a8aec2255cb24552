import { type LifeResult, describeBroken, liveOneLife } from "@event-anchoring/testkit";

/** Lives of these seeds; what each broken one has to say. */
export async function livesOf(from: number, count: number): Promise<{ stories: string[]; results: LifeResult[] }> {
  const stories: string[] = [];
  const results: LifeResult[] = [];
  for (let seed = from; seed < from + count; seed++) {
    const result = await liveOneLife({ seed, harmMs: 9000 });
    results.push(result);
    if (result.broken !== null) stories.push(describeBroken(result));
  }
  return { stories, results };
}

/** For the reader of the test's output. */
export function summaryOf(results: readonly LifeResult[], realMs: number): string {
  const sum = (of: (result: LifeResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  const simulatedS = sum(({ simulatedMs }) => simulatedMs) / 1000;
  const rate = (simulatedS / (realMs / 1000)).toFixed(0);
  const entries = sum((result) => result.entries);
  const acknowledged = sum((result) => result.acknowledged);
  const minutes = (simulatedS / 60).toFixed(0);
  return (
    `${results.length} lives, ${minutes} simulated minutes, ${rate} simulated seconds a second, ` +
    `${entries} entries, ${acknowledged} anchors acknowledged`
  );
}
