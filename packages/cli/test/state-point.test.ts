/** What a node's control plane is asked for a backup, and what is made of its answers. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import {
  FrameSplitter,
  LOCAL_FRAME_BYTES_MAX,
  LocalResponseWriter,
  decodeLocalRequest,
  joinFrames,
} from "@event-anchoring/control-contract";
import type { LocalRequest, LocalResponse } from "@event-anchoring/control-contract";
import { controlSocketOf } from "../src/files/node-database.ts";
import { holdSignedState } from "../src/service/state-point.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

let folder: string;
let path: string;
let server: Server;
let asked: LocalRequest[];
let connections: number;
/** null: the connection is ended. */
let answer: (request: LocalRequest) => readonly Uint8Array[] | null;

const framed = (response: LocalResponse): readonly Uint8Array[] => [
  joinFrames(new LocalResponseWriter().bodiesOf(response)),
];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "point-"));
  path = join(folder, "control.sock");
  asked = [];
  connections = 0;
  server = createServer((socket) => {
    connections += 1;
    socket.on("close", () => (connections -= 1));
    const splitter = new FrameSplitter(LOCAL_FRAME_BYTES_MAX);
    socket.on("data", (chunk: Buffer) => {
      for (const body of splitter.push(chunk)) {
        const request = decodeLocalRequest(body);
        asked.push(request);
        const pieces = answer(request);
        if (pieces === null) socket.destroy();
        else for (const piece of pieces) socket.write(piece);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
};

test("a state that a quorum has signed is held as long as the connection", async () => {
  answer = ({ requestId }) =>
    framed({ type: "state_held", requestId, raftIndex: 7, databaseSnapshot: "0000000A-1-1", stateHead: "note" });
  const held = await holdSignedState(path);
  expect(held.point).toEqual({ databaseSnapshot: "0000000A-1-1", stateHead: "note" });
  expect(asked).toMatchObject([{ type: "hold_state", remainingMs: 15_000 }]);
  expect(connections).toBe(1);
  held.release();
  await until(() => connections === 0);
});

test.each<[string, (requestId: number) => readonly Uint8Array[] | null, string]>([
  [
    "no quorum signs",
    (requestId) => {
      const detail = "n1 alone signed the state after entry 7 in time; the quorum is 2";
      return framed({ type: "refused", requestId, code: "unavailable", detail, retryAfterMs: 5000 });
    },
    "n1 alone signed the state after entry 7 in time; the quorum is 2 (unavailable)",
  ],
  [
    "it answers something else",
    (requestId) => framed({ type: "metrics", requestId, text: "" }),
    "answers with metrics",
  ],
  ["it is of another build", () => [Buffer.from([0, 0, 0, 1, 99])], "is of another build"],
  ["it ends", () => null, "has ended the connection"],
])("where %s, nothing is made, and it says why and what instead", async (_, given, why) => {
  answer = ({ requestId }) => given(requestId);
  const refused = expect.objectContaining({
    code: "state_not_signed",
    exitCode: 4,
    message: expect.stringContaining(`${why}. --unsigned makes a backup`),
  });
  await expect(holdSignedState(path)).rejects.toEqual(refused);
  await until(() => connections === 0);
});

test("where nobody listens, it says so", async () => {
  await expect(holdSignedState(join(folder, "nobody"))).rejects.toMatchObject({ code: "state_not_signed" });
});

test("the settings of either process name the socket, an address of a database names none", async () => {
  const settings = (name: string, values: object): string => {
    const file = join(folder, name);
    writeFileSync(file, JSON.stringify(values), { mode: 0o600 });
    return file;
  };
  const ofControlPlane = settings("control-plane.json", { promise_file: "/p", api_socket: "/run/a.sock" });
  expect(controlSocketOf(ofControlPlane, {})).toBe("/run/a.sock");
  const ofApi = settings("api.json", { control_socket: "/run/b.sock" });
  expect(controlSocketOf(ofApi, {})).toBe("/run/b.sock");
  expect(controlSocketOf(ofApi, { ANCHORING_API__CONTROL_SOCKET: "/run/c.sock" })).toBe("/run/c.sock");
  expect(controlSocketOf("postgresql://localhost/x", {})).toBeNull();
  const address = ["--database", "postgresql://localhost/x", "--out", join(folder, "out")];
  const { exitCode, stderr } = await runAnchorctl(folder, ["backup", "create", ...address]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("--unsigned");
});
