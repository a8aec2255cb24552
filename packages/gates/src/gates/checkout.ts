import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this checkout. */
export const CHECKOUT = fileURLToPath(new URL("../../../..", import.meta.url));
/** One line for each batch, oldest first. */
export const RESULTS_PATH = join(CHECKOUT, "test/gates/results.jsonl");
/** The page with the table. */
export const PAGE_PATH = join(CHECKOUT, "docs/testing.md");
