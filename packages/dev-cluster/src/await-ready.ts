import { setTimeout as delay } from "node:timers/promises";

const POLL_MS = 100;
const REQUEST_TIMEOUT_MS = 2000;

/** Waits until GET /readyz of every node answers 200; then until each takes the API key, if one is given. */
export async function awaitReady(
  apiUrls: readonly string[],
  options: { readonly timeoutMs: number; readonly apiKey?: string },
): Promise<void> {
  const giveUpAt = performance.now() + options.timeoutMs;
  await Promise.all(apiUrls.map((url) => awaitOne(url, options.apiKey ?? null, giveUpAt)));
}

async function awaitOne(apiUrl: string, apiKey: string | null, giveUpAt: number): Promise<void> {
  let newest = "no answer yet";
  while (performance.now() < giveUpAt) {
    newest = apiKey === null ? await askReady(apiUrl) : await askKey(apiUrl, apiKey);
    if (newest === "ready") return;
    await delay(POLL_MS);
  }
  throw new Error(`${apiUrl} is not ready: ${newest}`);
}

async function askReady(apiUrl: string): Promise<string> {
  const answer = await ask(`${apiUrl}/readyz`, {});
  return answer.status === 200 ? "ready" : answer.text;
}

/** Any answer but 401 means that the key is known there. */
async function askKey(apiUrl: string, apiKey: string): Promise<string> {
  const answer = await ask(`${apiUrl}/v1/event-anchors/latest`, { authorization: `Bearer ${apiKey}` });
  return answer.status === 200 || answer.status === 404 ? "ready" : answer.text;
}

async function ask(url: string, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    return { status: response.status, text: `${response.status} ${(await response.text()).slice(0, 500)}` };
  } catch (error) {
    return { status: 0, text: error instanceof Error ? error.message : String(error) };
  }
}
