const TIMEOUT_MS = 5000;

/** The text that a scrape of a node is answered with: of its api process, and of its control plane through that. */
export class Scrape {
  readonly #samples: readonly { readonly series: string; readonly value: number }[];

  constructor(text: string) {
    this.#samples = text.split("\n").flatMap((line) => {
      const at = line.lastIndexOf(" ");
      return line.startsWith("#") || at < 0 ? [] : [{ series: line.slice(0, at), value: Number(line.slice(at + 1)) }];
    });
  }

  /** The sum over all series of a metric, or over those with a label. @param label as in `event="frame_sent"` */
  sumOf(metric: string, label: string = ""): number {
    const series = this.#samples.filter(
      (sample) => (sample.series === metric || sample.series.startsWith(`${metric}{`)) && sample.series.includes(label),
    );
    return series.reduce((sum, { value }) => sum + value, 0);
  }

  /** What only grows, by series; the sum over all peers. Buckets of histograms are left out. */
  counters(): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    for (const { series, value } of this.#samples) {
      if (!/_(?:total|sum|count)(?:\{|$)/u.test(series)) continue;
      const name = series.replace(/,peer="[^"]*"|peer="[^"]*",?/u, "").replace("{}", "");
      sums.set(name, (sums.get(name) ?? 0) + value);
    }
    return sums;
  }
}

/** @param url of a node's metrics. @returns null if it does not tell them */
export async function scrapeOf(url: string): Promise<Scrape | null> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return answer.ok ? new Scrape(await answer.text()) : null;
  } catch {
    // The process is down, or busy.
    return null;
  }
}
