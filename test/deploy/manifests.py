"""Prints YAML documents as one JSON list, for tests that hold them against facts."""
import json
import sys

import yaml

json.dump([document for document in yaml.safe_load_all(sys.stdin) if document], sys.stdout)
