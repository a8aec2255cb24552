"""How long `record` takes: `python scripts/bench_recorder.py [events]`. Nothing is sent: there is no service."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time

from event_anchoring import Client, Envelope, Recorder

CONTENT = {
    "tool": "refund",
    "arguments": {"order": "4711", "amount": 1900, "currency": "EUR", "reason": "damaged on delivery"},
    "result": {"status": "paid", "transaction": "t-0123456789", "balance": 120_000},
    "text": "x" * 180,
}


def main(count: int) -> None:
    """Prints the median and two percentiles in microseconds."""
    client = Client("http://127.0.0.1:9", "key", origin_fingerprint="07" * 32)
    times = []
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder.open(client, folder, exit_flush_ms=0, batch_ms=60_000, on_error=lambda _: None)
        for _ in range(count):
            started = time.perf_counter_ns()
            recorder.record(CONTENT, what="tool.call", who="billing-agent")
            times.append((time.perf_counter_ns() - started) / 1000)
        recorder.close(0)
    envelope_bytes = len(Envelope.make(CONTENT, what="tool.call", who="billing-agent").canonical)
    cuts = statistics.quantiles(times, n=100)
    print(f"{count} events of {envelope_bytes} bytes: p50 {cuts[49]:.0f} us, p90 {cuts[89]:.0f}, p99 {cuts[98]:.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
