import type { OpenedPromiseFile, PromiseFile, Promises } from "./promise-file.ts";

/** Where the promise file lives: another volume than the database's. */
export interface PromiseVolume {
  /** @throws PromiseFileError `missing`, `torn`, `foreign`, `mode`, `locked`, `unusable` */
  open(): Promise<Omit<OpenedPromiseFile, "file"> & { readonly file: OpenPromiseFile }>;
  /** @throws PromiseFileError `exists`, `locked` */
  create(promises: Promises): Promise<OpenPromiseFile>;
}

export type OpenPromiseFile = Pick<PromiseFile, "current" | "save" | "close">;
