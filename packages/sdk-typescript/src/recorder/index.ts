/** Records what happens on disk before it is anchored, and keeps envelopes beside receipts. Needs files. */
export { Recorder } from "./recorder.ts";
export { RecordedEvent } from "./recorded-event.ts";
export type { KeptEvent } from "./recorded-event.ts";
export type { AttachmentInput, RecordOptions, RecorderOptions, RecorderProgress } from "./recorder-options.ts";
export { EventRefused, FolderInUse, NotFlushed, SpoolCorrupt, SpoolFull, SpoolWriteFailed } from "./errors.ts";
export type { RecorderFiles } from "./files.ts";
