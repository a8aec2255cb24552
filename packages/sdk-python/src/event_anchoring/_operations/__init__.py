"""Every route of the API, once for both clients: an operation each. docs/API.md."""
