"""The program of recording-program.js in Python: same arguments, same lines."""

import os
import sys
from datetime import datetime, timedelta, timezone
from hashlib import sha256

from event_anchoring import Client, Recorder, SpoolFull

START = datetime(2026, 11, 23, 10, tzinfo=timezone.utc)


def record(recorder: Recorder, directory: str, at: int) -> None:
    """Until there is room."""
    own_id = sha256(f"{directory} {at}".encode()).digest()[:16]
    when = START + timedelta(milliseconds=at)
    while True:
        try:
            recorder.record({"at": at, "text": "x" * 300}, what="count", when=when, client_event_id=own_id)
        except SpoolFull:
            recorder.room()
        else:
            return


def main(directory: str, endpoints: str, spool_bytes_max: str, first: str, end: str) -> None:
    """Records, and flushes when its standard input has ended."""
    with Client(endpoints.split(","), os.environ["ANCHORING_API_KEY"]) as client:
        recorder = Recorder.open(
            client,
            directory,
            batch_events_max=200,
            batch_ms=20,
            spool_bytes_max=int(spool_bytes_max),
            on_error=lambda _: None,
        )
        for at in range(int(first), int(end)):
            record(recorder, directory, at)
            sys.stdout.write(f"{at}\n")
            sys.stdout.flush()
        sys.stdin.read()
        recorder.flush(600_000)
        recorder.close()


main(*sys.argv[1:])
