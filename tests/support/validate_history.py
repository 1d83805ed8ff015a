"""Validates history items, one JSON line each, against the providers' own SDK types.

A line is {"format": ..., "what": "call" | "result" | "message", "item": ...}. Prints how many items each SDK took. The
packages `openai` and `anthropic` must be there; the others are used where they are. Exit status 1: an item was refused.
"""

import importlib
import json
import sys
import typing

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import get_type_hints, is_typeddict

REQUIRED = {"openai-chat", "openai-responses", "anthropic"}
# Members that compatible servers and models want back, which the SDK's types do not list.
BESIDE = {
    "openai-chat": {"extra_content"},
    # The guide for the local shell answers by `call_id`.
    "openai-responses": {"call_id"},
    "gemini-interactions": {"signature"},
}


def typed(format, *types):
    """Accepts what one of the types accepts, with no member that it does not list."""
    types = [one for type_ in types for one in typing.get_args(type_) or (type_,)]
    adapters = [(type_, adapter_of(type_)) for type_ in types]

    def validate(item):
        faults = []
        for type_, adapter in adapters:
            try:
                adapter.validate_python(item, strict=False)
                unlisted = set(item) - set(members(type_)) - BESIDE.get(format, set())
                if not unlisted:
                    return
                faults.append(f"{type_.__name__} lists no {sorted(unlisted)}")
            except ValueError as fault:
                faults.append(f"{type_.__name__}: {fault}")
        raise ValueError("; ".join(faults))

    return validate


def adapter_of(type_):
    # Some unions also allow open files, which have no schema.
    if is_typeddict(type_):
        type_.__pydantic_config__ = ConfigDict(arbitrary_types_allowed=True)
    return TypeAdapter(type_)


def members(type_):
    if is_typeddict(type_):
        return get_type_hints(type_)
    fields = type_.model_fields
    return [field.alias or name for name, field in fields.items()] + list(fields)


def openai_chat():
    types = importlib.import_module("openai.types.chat")
    format = "openai-chat"
    return {
        "call": typed(
            format,
            types.ChatCompletionMessageFunctionToolCallParam,
            types.ChatCompletionMessageCustomToolCallParam,
        ),
        "result": typed(format, types.ChatCompletionToolMessageParam),
        "message": typed(
            format,
            types.ChatCompletionAssistantMessageParam,
            types.ChatCompletionToolMessageParam,
        ),
    }


def openai_responses():
    types = importlib.import_module("openai.types.responses")
    items = importlib.import_module("openai.types.responses.response_input_item_param")
    format = "openai-responses"
    call = typed(
        format,
        types.ResponseFunctionToolCallParam,
        types.ResponseCustomToolCallParam,
        types.ResponseComputerToolCallParam,
        items.LocalShellCall,
        items.ShellCall,
        items.ApplyPatchCall,
        items.ToolSearchCall,
        items.McpApprovalRequest,
    )
    result = typed(
        format,
        items.FunctionCallOutput,
        types.ResponseCustomToolCallOutputParam,
        items.ComputerCallOutput,
        items.LocalShellCallOutput,
        items.ShellCallOutput,
        items.ApplyPatchCallOutput,
        types.ResponseToolSearchOutputItemParamParam,
        items.McpApprovalResponse,
    )
    either = TypeAdapter(items.ResponseInputItemParam).validate_python
    return {"call": call, "result": result, "message": either}


def anthropic():
    types = importlib.import_module("anthropic.types")
    format = "anthropic"
    return {
        "call": typed(format, types.ToolUseBlockParam),
        "result": typed(format, types.ToolResultBlockParam),
        "message": typed(format, types.MessageParam),
    }


def gemini():
    types = importlib.import_module("google.genai.types")
    return {
        "call": types.Part.model_validate,
        "result": types.Part.model_validate,
        "message": types.Content.model_validate,
    }


def gemini_interactions():
    types = importlib.import_module("google.genai._gaos.types.interactions")
    format = "gemini-interactions"
    call = typed(format, types.FunctionCallStepParam)
    result = typed(format, types.FunctionResultStepParam)

    def either(item):
        (call if item["type"] == "function_call" else result)(item)

    return {"call": call, "result": result, "message": either}


def bedrock():
    loaders = importlib.import_module("botocore.loaders")
    model = importlib.import_module("botocore.model")
    validate = importlib.import_module("botocore.validate")
    service = loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    shapes = model.ServiceModel(service)

    def of(name):
        shape = shapes.shape_for(name)

        def check(item):
            report = validate.ParamValidator().validate(item, shape)
            if report.has_errors():
                raise ValueError(report.generate_report())

        return check

    block = of("ContentBlock")
    return {"call": block, "result": block, "message": of("Message")}


def cohere():
    types = importlib.import_module("cohere")
    format = "cohere"
    call = typed(format, types.ToolCallV2)
    chat = importlib.import_module("cohere.types")
    return {
        "call": call,
        "result": typed(format, types.ToolChatMessageV2),
        "message": TypeAdapter(chat.ChatMessageV2).validate_python,
    }


def mistral():
    types = importlib.import_module("mistralai.client.models")
    format = "mistral"

    def ids(item):
        id = item.get("id") or item.get("tool_call_id")
        if id is None or len(id) != 9 or not (id.isascii() and id.isalnum()):
            raise ValueError(f"the id {id} is not nine letters and digits")

    def and_ids(validate):
        def both(item):
            validate(item)
            ids(item)

        return both

    return {
        "call": and_ids(typed(format, types.ToolCall)),
        "result": and_ids(typed(format, types.ToolMessage)),
        "message": typed(format, types.AssistantMessage, types.ToolMessage),
    }


def ollama():
    types = importlib.import_module("ollama")
    # Its types ignore the recent ids.
    return {
        "call": types.Message.ToolCall.model_validate,
        "result": types.Message.model_validate,
        "message": types.Message.model_validate,
    }


FORMATS = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "gemini-interactions": gemini_interactions,
    "bedrock": bedrock,
    "cohere": cohere,
    "mistral": mistral,
    "ollama": ollama,
}


def main():
    validators = {}
    for name, load in FORMATS.items():
        try:
            validators[name] = load()
        except (ImportError, AttributeError) as fault:
            if name in REQUIRED:
                raise
            print(f"not checked: {name} ({fault})")
    taken, refused = {}, []
    for line in sys.stdin:
        line = json.loads(line)
        validate = validators.get(line["format"])
        if validate is None:
            continue
        try:
            validate[line["what"]](line["item"])
            taken[line["format"]] = taken.get(line["format"], 0) + 1
        except ValueError as fault:
            refused.append(f"{line['format']} {line['what']}: {json.dumps(line['item'])}\n  {fault}")
    for name, count in taken.items():
        print(f"taken: {name} {count}")
    for fault in refused:
        print(f"refused: {fault}")
    missing = REQUIRED - set(taken)
    if missing:
        print(f"refused: nothing to check for {sorted(missing)}")
    return 1 if refused or missing else 0


if __name__ == "__main__":
    sys.exit(main())
