"""The synchronous client: made from `asynchronous` by scripts/make_sync.py."""
