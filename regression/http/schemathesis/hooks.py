"""Makes data valid that fits its schema, where a JSON schema cannot say what is valid."""
import base64
import json
import os
from itertools import cycle
from urllib.parse import quote, unquote
from uuid import uuid4

import schemathesis
from schemathesis.generation import GenerationMode

FEED = os.environ["FRESHET_FEED"]
CURSOR = os.environ["FRESHET_CURSOR"]
POSITION = os.environ["FRESHET_POSITION"]
MAX_ID_BYTES = 128
TS = "2026-01-31T10:00:00.000Z"
AS_LINES = cycle([False, True])


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    query, path, headers = case.query or {}, case.path_parameters or {}, case.headers or {}
    # cursors and positions have a checksum, and belong to a feed
    if case.operation.path.endswith("/count"):
        # only for tokens with ids
        query.pop("after", None)
    if "after" in query:
        query["after"], path["feed"] = CURSOR, FEED
    # one of them, and something to follow, which a document cannot say
    if "since" in query and "tail" in query:
        del query["since"]
    if case.operation.path == "/v1/live":
        query["feed"] = FEED
        case.query = query
    for name in list(headers):
        if name.lower() == "last-event-id":
            headers[name], path["feed"] = POSITION, FEED
    # in a feed with a window of its own, other valid times are too old
    if case.method.upper() == "PUT" and list(path) == ["feed"]:
        path["feed"] = f"shaped-{uuid4().hex}"
    elif case.method.upper() in ("POST", "DELETE") and "/items" in case.operation.path and str(path.get("feed")).startswith("shaped-"):
        path["feed"] = FEED
    # only valid requests: with lines the bound of limit is larger, which a document cannot say
    if case.method.upper() == "GET" and case.operation.path == "/v1/feeds/{feed}/items" and next(AS_LINES):
        case.headers["Accept"] = "application/x-ndjson"
    # an id has at most 128 bytes; a schema counts characters
    if "id" in path:
        path["id"] = quoted(cut(unquote(path["id"])))
    if "id" in query:
        ids = query["id"]
        query["id"] = [cut(one) for one in ids] if isinstance(ids, list) else cut(ids)
    if isinstance(query.get("ts"), str):
        query["ts"] = TS
    if isinstance(case.body, list) or isinstance(case.body, dict) and "id" in case.body:
        for item in case.body if isinstance(case.body, list) else [case.body]:
            item["id"] = cut(item["id"])
            if isinstance(item.get("ts"), str):
                item["ts"] = TS
            # the form of a value depends on the query
            if query.get("encoding") == "base64":
                item["value"] = base64.b64encode(json.dumps(item["value"]).encode()).decode()


def quoted(text):
    # schemathesis counts the characters of what is quoted, and takes a longer id for invalid
    while len(quote(text, safe="")) > MAX_ID_BYTES:
        text = text[:-1]
    return quote(text, safe="")


def cut(text):
    return str(text).encode()[:MAX_ID_BYTES].decode(errors="ignore")
