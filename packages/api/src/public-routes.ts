import { limitsToJson } from "@event-anchoring/api-contract";
import type { Handler } from "./handler.ts";

/** GET /v1/limits */
export const getLimits: Handler = async (_request, { limits }) => ({ status: 200, json: limitsToJson(limits) });
