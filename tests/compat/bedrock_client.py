"""Asks Bedrock one question in each of its four ways, through the real botocore; prints what it understood as JSON.

Run by the Python of the folder that holds the SDKs: `bedrock_client.py ENDPOINT MODEL`. With BEDROCK_KEY it sends that
as a bearer key; with access keys it signs, and prints the error it got. botocore itself sends AWS_BEARER_TOKEN_BEDROCK
over HTTPS alone, so the key is put into the header of an unsigned client here, as a program would have to.
"""

import json
import os
import sys

import botocore.session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT, MODEL = sys.argv[1:]
KEY = os.environ.get("BEDROCK_KEY")
SIGNING = {"signature_version": UNSIGNED} if KEY else {}
CLIENT = botocore.session.get_session().create_client(
    "bedrock-runtime",
    region_name="us-east-1",
    endpoint_url=ENDPOINT,
    config=Config(retries={"total_max_attempts": 3}, connect_timeout=10, read_timeout=20, **SIGNING),
)
if KEY:
    CLIENT.meta.events.register(
        "before-call.bedrock-runtime", lambda params, **_: params["headers"].update(Authorization=f"Bearer {KEY}")
    )
MESSAGES = [{"role": "user", "content": [{"text": "hi"}]}]
NATIVE = json.dumps({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 50, "messages": []})


def converse():
    reply = CLIENT.converse(modelId=MODEL, messages=MESSAGES, inferenceConfig={"maxTokens": 50})
    return [reply["output"]["message"]["content"][0]["text"], reply["usage"]["outputTokens"]]


def converse_stream():
    text, used = "", None
    for event in CLIENT.converse_stream(modelId=MODEL, messages=MESSAGES)["stream"]:
        text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
        used = event.get("metadata", {}).get("usage", {}).get("outputTokens", used)
    return [text, used]


def invoke():
    reply = json.loads(CLIENT.invoke_model(modelId=MODEL, body=NATIVE)["body"].read())
    return [reply["content"][0]["text"], reply["usage"]["output_tokens"]]


def invoke_stream():
    text, used = "", None
    for event in CLIENT.invoke_model_with_response_stream(modelId=MODEL, body=NATIVE)["body"]:
        native = json.loads(event["chunk"]["bytes"])
        text += native.get("delta", {}).get("text", "")
        used = native.get("usage", {}).get("output_tokens", used)
    return [text, used]


if KEY:
    print(json.dumps([converse(), converse_stream(), invoke(), invoke_stream()]))
else:
    try:
        converse()
    except ClientError as error:
        print(json.dumps([error.response["Error"]["Code"], error.response["Error"]["Message"],
                          error.response["ResponseMetadata"]["RetryAttempts"]]))  # fmt: skip
