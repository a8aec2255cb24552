/** What the standard variables of OpenTelemetry ask for. */

export type Variables = Readonly<Record<string, string | undefined>>;

/** Ids as OTEL_TRACES_SAMPLER has them. */
const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

export type SamplerName = (typeof SAMPLERS)[number];

export interface SamplerSetting {
  readonly name: SamplerName;
  /** 0 to 1; of the ratio samplers. */
  readonly ratio: number;
}

/** Milliseconds and counts of the export queue; the OTEL_BSP_* variables and their defaults. */
export interface QueueSetting {
  readonly spansMax: number;
  readonly batchMax: number;
  readonly delayMs: number;
  readonly timeoutMs: number;
}

export interface TracingSettings {
  readonly sampler: SamplerSetting;
  readonly queue: QueueSetting;
  /** Variables that say something that is not supported, and was passed over. */
  readonly ignored: readonly string[];
}

/** Whether spans are to be exported. An empty variable counts as unset, as OpenTelemetry wants it. */
export function isTracingOn(variables: Variables): boolean {
  if (variables["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true") return false;
  const exporters = (variables["OTEL_TRACES_EXPORTER"] ?? "").split(",").map((name) => name.trim());
  if (exporters.includes("none")) return false;
  if (exporters.includes("otlp")) return true;
  const endpoints = [variables["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], variables["OTEL_EXPORTER_OTLP_ENDPOINT"]];
  return endpoints.some((endpoint) => endpoint !== undefined && endpoint.trim() !== "");
}

/** Never throws: OpenTelemetry asks for a warning and the default where a value makes no sense. */
export function tracingSettings(variables: Variables): TracingSettings {
  const ignored: string[] = [];
  const count = (name: string, fallback: number): number => {
    const text = variables[name]?.trim() ?? "";
    if (text === "") return fallback;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (value > 0) return value;
    ignored.push(name);
    return fallback;
  };
  const spansMax = count("OTEL_BSP_MAX_QUEUE_SIZE", 2048);
  const queue = {
    spansMax,
    batchMax: Math.min(count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512), spansMax),
    delayMs: count("OTEL_BSP_SCHEDULE_DELAY", 5000),
    timeoutMs: count("OTEL_BSP_EXPORT_TIMEOUT", 30_000),
  };
  const sampler = samplerOf(variables, ignored);
  for (const name of ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"]) {
    const protocol = variables[name]?.trim() ?? "";
    if (protocol !== "" && protocol !== "http/json") ignored.push(name);
  }
  return { sampler, queue, ignored };
}

function samplerOf(variables: Variables, ignored: string[]): SamplerSetting {
  const text = variables["OTEL_TRACES_SAMPLER"]?.trim() ?? "";
  const name = SAMPLERS.find((known) => known === text);
  if (name === undefined && text !== "") ignored.push("OTEL_TRACES_SAMPLER");
  const argument = variables["OTEL_TRACES_SAMPLER_ARG"]?.trim() ?? "";
  const isRatio = /^\d+(\.\d+)?$/.test(argument) && Number(argument) <= 1;
  if (argument !== "" && !isRatio) ignored.push("OTEL_TRACES_SAMPLER_ARG");
  return { name: name ?? "parentbased_always_on", ratio: isRatio ? Number(argument) : 1 };
}
