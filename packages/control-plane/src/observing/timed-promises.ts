import type { Clock } from "@event-anchoring/telemetry";
import type { PromiseStore } from "../promises/promises.ts";

/** The same promise file; records how long each write takes, in seconds. */
export function timedPromises(
  file: PromiseStore,
  clock: Clock,
  seconds: { observe(value: number): void },
): PromiseStore {
  return {
    get current() {
      return file.current;
    },
    save: async (promises, left) => {
      const startMs = clock.monotonicMs();
      await file.save(promises, left);
      seconds.observe((clock.monotonicMs() - startMs) / 1000);
    },
  };
}
