"""Asks one question through Google's own Python SDK, in each of its ways; prints what it understood as JSON.

Run by the Python of the folder that holds the SDKs. It finds its provider by GOOGLE_GEMINI_BASE_URL.
"""

import json

from google import genai
from google.genai import errors, types

MODEL = "gemini-2.5-flash"


def understood(reply):
    usage = reply.usage_metadata
    return [reply.text, usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count]


def main():
    client = genai.Client(api_key="goog-dummy")
    config = types.GenerateContentConfig(max_output_tokens=100)
    try:
        whole = client.models.generate_content(model=MODEL, contents="hi", config=config)
        chunks = list(client.models.generate_content_stream(model=MODEL, contents="hi", config=config))
        counted = client.models.count_tokens(model=MODEL, contents="hi").total_tokens
    except errors.APIError as error:
        print(json.dumps({"refused": [error.code, error.status, error.message]}))
        return
    streamed = understood(chunks[-1])
    streamed[0] = "".join(chunk.text or "" for chunk in chunks)
    print(json.dumps({"whole": understood(whole), "streamed": streamed, "counted": counted > 0}))


main()
