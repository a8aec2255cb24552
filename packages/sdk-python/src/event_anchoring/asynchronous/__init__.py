"""The asynchronous client, a module for each concept. `synchronous` is made from these by scripts/make_sync.py."""
