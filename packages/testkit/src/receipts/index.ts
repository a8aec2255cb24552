export { EventService } from "./event-service.ts";
export { createReceiptMaker } from "./receipt-maker.ts";
export type { ReceiptMaker } from "./receipt-maker.ts";
export { threeNodeCeremony } from "./three-node-ceremony.ts";
