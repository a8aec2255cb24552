import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import express from "express";
import Fastify from "fastify";
import type { FastifyRequest } from "fastify";
import { recordRequests, recordingPlugin } from "../src/index.ts";
import { Events } from "./events.ts";

// Requests to servers of the real frameworks.

test("Express: requests are events when they have ended, without what is secret in them", async () => {
  const events = new Events();
  const app = express();
  app.use(
    recordRequests<express.Request>(events, {
      who: (request) => request.get("x-user"),
      select: (request) => request.path !== "/healthz",
      more: (_request, { statusCode }) => ({ is_refused: statusCode === 403 }),
    }),
  );
  const router = express.Router();
  router.get("/:id", (_request, response) => void response.status(403).json({ error: "not yours" }));
  router.post("/", (_request, response) => void response.destroy());
  app.use("/orders", router).get("/healthz", (_request, response) => void response.json({}));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const headers = { "x-user": "ada", connection: "close" };
  await fetch(`${base}/healthz`, { headers });
  await (await fetch(`${base}/orders/4711?token=secret`, { headers })).text();
  await expect(fetch(`${base}/orders/`, { method: "POST", body: "secret", headers })).rejects.toThrow();
  await (await fetch(`${base}/nothing`, { headers })).text();
  server.close();
  await once(server, "close");

  expect(events.seen.map(({ content }) => content)).toMatchObject([
    { method: "GET", path: "/orders/4711", route: "/orders/:id", status: 403, complete: true, is_refused: true },
    { method: "POST", path: "/orders/", complete: false },
    { method: "GET", path: "/nothing", status: 404, complete: true },
  ]);
  expect(events.seen[0]).toMatchObject({ what: "http.request", who: "ada", when: expect.any(Date) });
  expect(JSON.stringify(events.seen)).not.toContain("secret");
});

test("Fastify: requests of every route are events when they have ended, without what is secret in them", async () => {
  const events = new Events();
  const app = Fastify();
  app.register(
    recordingPlugin<FastifyRequest>(events, {
      who: (request) => String(request.headers["x-user"]),
      select: (request) => request.url !== "/healthz",
      more: (_request, { statusCode }) => ({ is_refused: statusCode === 403 }),
    }),
  );
  // A plugin of its own, beside that of the recorder.
  app.register(
    (orders, _options, done) => {
      orders.get("/:id", (_request, reply) => reply.code(403).send({ error: "not yours" }));
      orders.post("/", (_request, reply) => void reply.hijack().raw.destroy());
      done();
    },
    { prefix: "/orders" },
  );
  app.get("/healthz", () => ({}));
  app.get("/fails", () => Promise.reject(new Error("secret")));
  const base = await app.listen({ port: 0, host: "127.0.0.1" });
  const headers = { "x-user": "ada", connection: "close" };
  await fetch(`${base}/healthz`, { headers });
  await (await fetch(`${base}/orders/4711?token=secret`, { headers })).text();
  await expect(fetch(`${base}/orders/`, { method: "POST", body: "secret", headers })).rejects.toThrow();
  await (await fetch(`${base}/nothing`, { headers })).text();
  await (await fetch(`${base}/fails`, { headers })).text();
  await app.close();

  expect(events.seen.map(({ content }) => content)).toMatchObject([
    { method: "GET", path: "/orders/4711", route: "/orders/:id", status: 403, complete: true, is_refused: true },
    { method: "POST", path: "/orders/", route: "/orders", complete: false },
    { method: "GET", path: "/nothing", status: 404, complete: true },
    { method: "GET", path: "/fails", route: "/fails", status: 500, complete: true },
  ]);
  expect(events.seen[0]).toMatchObject({ what: "http.request", who: "ada", when: expect.any(Date) });
  expect(events.seen[2]?.content).not.toHaveProperty("route");
  expect(JSON.stringify(events.seen)).not.toContain("secret");
});
