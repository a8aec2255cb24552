import { describe, expect, test } from "@jest/globals";
import { isTracingOn } from "../src/index.ts";
import { tracingSettings } from "../src/tracing-settings.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

describe("tracing is on", () => {
  test.each([
    [ENDPOINT],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:4318/v1/traces" }],
    [{ OTEL_TRACES_EXPORTER: "otlp" }],
    [{ OTEL_TRACES_EXPORTER: "console, otlp" }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: "false" }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: "1" }],
  ])("with %j", (variables) => {
    expect(isTracingOn(variables)).toBe(true);
  });
});

describe("tracing is off", () => {
  test.each([
    [{}],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "  " }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: "true" }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: " TRUE " }],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://127.0.0.1:4318" }],
    [{ OTEL_SERVICE_NAME: "anchoring", OTEL_TRACES_SAMPLER: "always_on" }],
    [{ OTEL_TRACES_EXPORTER: "zipkin" }],
  ])("with %j", (variables) => {
    expect(isTracingOn(variables)).toBe(false);
  });
});

describe("settings", () => {
  test("are OpenTelemetry's defaults where nothing is said", () => {
    expect(tracingSettings({})).toEqual({
      sampler: { name: "parentbased_always_on", ratio: 1 },
      queue: { spansMax: 2048, batchMax: 512, delayMs: 5000, timeoutMs: 30_000 },
      ignored: [],
    });
  });

  test("follow the standard variables", () => {
    const settings = tracingSettings({
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.01",
      OTEL_BSP_MAX_QUEUE_SIZE: "100",
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    });
    expect(settings).toEqual({
      sampler: { name: "parentbased_traceidratio", ratio: 0.01 },
      queue: { spansMax: 100, batchMax: 100, delayMs: 50, timeoutMs: 30_000 },
      ignored: [],
    });
  });

  test.each([
    ["OTEL_TRACES_SAMPLER", "sometimes"],
    ["OTEL_TRACES_SAMPLER_ARG", "1.5"],
    ["OTEL_TRACES_SAMPLER_ARG", "-0.1"],
    ["OTEL_TRACES_SAMPLER_ARG", "NaN"],
    ["OTEL_BSP_MAX_QUEUE_SIZE", "0"],
    ["OTEL_BSP_MAX_QUEUE_SIZE", "-5"],
    ["OTEL_BSP_SCHEDULE_DELAY", "1e9"],
    ["OTEL_BSP_EXPORT_TIMEOUT", "99999999999"],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
    ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"],
  ])("%s=%s is named and passed over", (name, value) => {
    const { ignored, ...settings } = tracingSettings({ [name]: value });
    expect(ignored).toEqual([name]);
    expect(settings).toEqual({ sampler: tracingSettings({}).sampler, queue: tracingSettings({}).queue });
  });
});
