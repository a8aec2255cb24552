export { ForeignLog } from "./foreign-log.ts";
export { NEXT_RULES } from "./next-rules.ts";
export {
  claimBody,
  eventBody,
  grantBody,
  partyOf,
  revocationBody,
  signClaim,
  signEvent,
  signGrant,
  signRevocation,
} from "./signed-records.ts";
export type { JsonBody, Party } from "./signed-records.ts";
export { TestActs } from "./test-acts.ts";
