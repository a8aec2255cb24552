/** What the page says, without the page: for tests. */
export { judgeAll } from "./check/judge.ts";
export { parsePin } from "./check/trust.ts";
export { leavesOf } from "./chain/bundle-leaves.ts";
export { chainModelOf } from "./chain/chain-model.ts";
export { drawingOf } from "./chain/layout.ts";
export { placeInLayers } from "./chain/layered.ts";
export { stopsOf } from "./chain/positions.ts";
export { detailRows, termsOf } from "./chain/record-details.ts";
export { itemOf, offeredOf, readAsFile, withReceipts } from "./given/given-items.ts";
export { recognise } from "./given/recognise.ts";
export type { Given } from "./given/given.ts";
