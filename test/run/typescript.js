/**
 * `node --conditions=source --import ./test/run/typescript.js FILE.ts` runs a program of the tests in a process of its
 * own, from TypeScript sources as Jest does.
 */
import { register } from "node:module";

register("./typescript-hooks.js", import.meta.url);
