"""JSON Schemas of versioned requests and their results, for whoever writes the one or reads the other. Pure.

They say what can be said in JSON Schema. The checks of `v1_schema` decide: they measure in UTF-16 units where a schema
counts characters, look at the file's name, and have an order and a reason for each failure.
"""

from __future__ import annotations

from switchboard.common.strict_json import JsonValue, parse

_REQUEST = r"""
{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Versioned trigger request",
  "description": "The content of <uuid>.json in the triggers folder; <uuid> is new and lower-case.",
  "oneOf": [{"$ref": "#/$defs/resume"}, {"$ref": "#/$defs/new"}, {"$ref": "#/$defs/stop"}],
  "$defs": {
    "resume": {
      "title": "Open a session by its id",
      "type": "object",
      "required": ["version", "action", "sessionId"],
      "properties": {
        "version": {"const": 1},
        "action": {"const": "open"},
        "sessionId": {"$ref": "#/$defs/sessionId"},
        "prompt": {"$ref": "#/$defs/text"},
        "timeout_ms": {"$ref": "#/$defs/timeout"},
        "expectedCwd": {"$ref": "#/$defs/cwd"}
      },
      "additionalProperties": false
    },
    "new": {
      "title": "Start a session in a known project",
      "type": "object",
      "required": ["version", "action", "new", "prompt"],
      "properties": {
        "version": {"const": 1},
        "action": {"const": "open"},
        "new": {
          "type": "object",
          "required": ["project", "name"],
          "properties": {
            "project": {"description": "Absolute path.", "type": "string", "pattern": "^/"},
            "name": {
              "description": "Shown name, without control characters; at most 256 UTF-16 units.",
              "type": "string",
              "maxLength": 256,
              "pattern": "\\S",
              "not": {"pattern": "[\\u0000-\\u001f\\u007f]"}
            }
          },
          "additionalProperties": false
        },
        "prompt": {"$ref": "#/$defs/text"},
        "timeout_ms": {"$ref": "#/$defs/timeout"}
      },
      "additionalProperties": false
    },
    "stop": {
      "title": "End an open session",
      "type": "object",
      "required": ["version", "action", "sessionId"],
      "properties": {
        "version": {"const": 1},
        "action": {"const": "stop"},
        "sessionId": {"$ref": "#/$defs/sessionId"},
        "before": {"$ref": "#/$defs/text"},
        "timeout_ms": {"$ref": "#/$defs/timeout"},
        "expectedCwd": {"$ref": "#/$defs/cwd"}
      },
      "additionalProperties": false
    },
    "sessionId": {
      "type": "string",
      "pattern": "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
    },
    "text": {
      "description": "One line that is typed, then Enter; at most 4096 UTF-16 units.",
      "type": "string",
      "maxLength": 4096,
      "pattern": "\\S",
      "not": {"pattern": "[\\r\\n\\u0000\\u001b]"}
    },
    "timeout": {"description": "Milliseconds for everything.", "type": "integer", "minimum": 1, "maximum": 600000},
    "cwd": {"description": "Refuse unless the session works here.", "type": "string", "minLength": 1}
  }
}
"""

_RESULT = r"""
{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Result of a versioned trigger request",
  "description": "The content of processed/<uuid>.result.json.",
  "type": "object",
  "required": [
    "version", "action", "ok", "outcome", "reason", "sessionId", "submitted", "wrote", "steps_total"
  ],
  "properties": {
    "version": {"description": "As requested; null for missing."},
    "action": {"description": "As requested; null for missing."},
    "ok": {"type": "boolean"},
    "outcome": {"enum": ["opened", "closed", "refused", "not-found"]},
    "reason": {"description": "A fixed text; null on success.", "type": ["string", "null"]},
    "sessionId": {"type": ["string", "null"]},
    "resumed": {"description": "Open by id: this request started a process.", "type": "boolean"},
    "created": {"description": "Open new: this request started a process.", "type": "boolean"},
    "submitted": {"enum": ["no", "assumed", "activity", "confirmed"]},
    "wrote": {"description": "A byte of the text went out, or may have.", "type": "boolean"},
    "steps_total": {"enum": [0, 1]},
    "uncertain": {"description": "Do not repeat the request: it may have taken effect.", "const": true},
    "error": {"type": "string"},
    "detail": {"type": "string"},
    "sent_at": {"type": "string"},
    "enter_at": {"type": "string"},
    "waited_ms": {"type": "integer"},
    "submit_retries": {"enum": [0, 1]},
    "written": {"type": "boolean"},
    "text_written": {"type": "boolean"},
    "enter_written": {"type": "boolean"},
    "turn_observed": {"type": "boolean"},
    "submit_confirmed": {"type": "boolean"},
    "confirm_source": {"type": "string"},
    "compaction_observed": {"type": "boolean"},
    "ready_source": {"type": "string"},
    "idle_source": {"type": "string"},
    "dialog": {"type": "string"},
    "withheld": {"description": "Why Enter was not repeated.", "type": "string"},
    "timedOut": {"const": true},
    "delivery": {"description": "Stop: what became of the note, and delivery's own reason.", "type": "object"}
  },
  "if": {"properties": {"ok": {"const": true}}},
  "then": {"properties": {"outcome": {"enum": ["opened", "closed"]}, "reason": {"type": "null"}}},
  "else": {"properties": {"outcome": {"enum": ["refused", "not-found"]}, "reason": {"type": "string"}}}
}
"""


def request_schema() -> JsonValue:
    """Return the JSON Schema of the three shapes of a request."""
    return parse(_REQUEST)


def result_schema() -> JsonValue:
    """Return the JSON Schema of a result."""
    return parse(_RESULT)
