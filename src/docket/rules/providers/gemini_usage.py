"""Google's usage objects, read (ai.google.dev, UsageMetadata; Vertex AI, UsageMetadata; Interactions, Usage).

Rules:
1. Cached tokens are inside the prompt. What tools' results brought into the prompt stands beside it, and thoughts
   stand beside the candidates: both are billed. A total that says otherwise is believed.
2. Counts are cumulative: a later one wins, a 0 never erases. A count that is left out is 0 once any other is known.
3. Where the total exceeds what is named, the rest is output that was not shown.
4. Counts by modality matter for audio and images alone, whose tokens have prices of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.dataclass import dataclass
from docket.formats.run.usage import Usage
from docket.rules.providers.counts import Counts, count, unreadable_note
from docket.rules.providers.json_scan import JsonMap, as_items, as_map

_MAX_MODALITIES = 16
_AUDIO, _IMAGE = "AUDIO", "IMAGE"
_PRICED_APART = (_AUDIO, _IMAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageNames:
    """What the members of a usage object are called; `modal_in` and `modal_out` are lists by modality."""

    prompt: str
    cached: str
    tools: str
    shown: str
    thoughts: str
    total: str
    modal_in: tuple[str, ...]
    modal_out: tuple[str, ...]
    count_member: str

    @property
    def counts(self) -> tuple[str, ...]:
        """The members that are counts."""
        return (self.prompt, self.cached, self.tools, self.shown, self.thoughts, self.total)


GENERATE = UsageNames(
    prompt="promptTokenCount",
    cached="cachedContentTokenCount",
    tools="toolUsePromptTokenCount",
    shown="candidatesTokenCount",
    thoughts="thoughtsTokenCount",
    total="totalTokenCount",
    modal_in=("promptTokensDetails", "toolUsePromptTokensDetails"),
    modal_out=("candidatesTokensDetails",),
    count_member="tokenCount",
)
INTERACTIONS = UsageNames(
    prompt="total_input_tokens",
    cached="total_cached_tokens",
    tools="total_tool_use_tokens",
    shown="total_output_tokens",
    thoughts="total_thought_tokens",
    total="total_tokens",
    modal_in=("input_tokens_by_modality", "tool_use_tokens_by_modality"),
    modal_out=("output_tokens_by_modality",),
    count_member="tokens",
)


class GoogleUsage:
    """Usage objects of one reply, merged."""

    __slots__ = ("_counts", "_modal", "_names")

    def __init__(self, names: UsageNames) -> None:
        self._names = names
        self._counts = Counts()
        self._modal: Mapping[str, Mapping[str, int]] = {}

    def copy(self) -> GoogleUsage:
        """Return an independent copy."""
        other = GoogleUsage(self._names)
        other._counts, other._modal = self._counts.copy(), self._modal
        return other

    def merge(self, usage: JsonMap) -> None:
        """Take a cumulative usage object."""
        names = self._names
        self._counts.merge(usage, names.counts)
        for name in (*names.modal_in, *names.modal_out):
            items = as_items(usage.get(name))
            if items:
                self._modal = {**self._modal, name: _by_modality(items, names.count_member)}

    def total(self, web_searches: int = 0) -> Usage | None:
        """Return the usage, None while neither the prompt nor a total is known."""
        names, counts = self._names, self._counts
        if counts.unreadable & {names.prompt, names.shown, names.thoughts} or not self._has_input:
            return None
        tools, shown, thoughts = counts.get(names.tools), counts.get(names.shown), counts.get(names.thoughts)
        total = counts.get(names.total)
        prompt = counts.known.get(names.prompt, max(total - tools - shown - thoughts, 0))
        beyond = total - prompt - tools - shown - thoughts
        if total and beyond < 0:
            # Some servers count one inside another: the total tells which.
            if -beyond in (thoughts, thoughts + tools):
                shown -= min(thoughts, shown)
            if -beyond in (tools, thoughts + tools):
                tools = 0
        thoughts += max(beyond, 0)
        read = prompt + tools
        audio_in = min(self._of(_AUDIO, names.modal_in), read)
        audio_out = min(self._of(_AUDIO, names.modal_out), shown)
        return Usage(
            input_tokens=max(read, counts.get(names.cached)),
            cached_input_tokens=counts.get(names.cached),
            output_tokens=shown + thoughts,
            reasoning_tokens=thoughts,
            audio_input_tokens=audio_in,
            audio_output_tokens=audio_out,
            image_input_tokens=min(self._of(_IMAGE, names.modal_in), read - audio_in),
            image_output_tokens=min(self._of(_IMAGE, names.modal_out), shown - audio_out),
            web_searches=web_searches,
        )

    def note(self) -> str | None:
        """Return what could not be read, in words."""
        return unreadable_note(self._counts)

    @property
    def _has_input(self) -> bool:
        return self._names.prompt in self._counts.known or self._names.total in self._counts.known

    def _of(self, modality: str, names: tuple[str, ...]) -> int:
        return sum(self._modal.get(name, {}).get(modality, 0) for name in names)


def _by_modality(items: object, member: str) -> Mapping[str, int]:
    tokens = dict.fromkeys(_PRICED_APART, 0)
    for item in as_items(items)[:_MAX_MODALITIES]:
        modality = as_map(item).get("modality")
        if isinstance(modality, str) and modality.upper() in tokens:
            tokens[modality.upper()] += count(as_map(item).get(member)) or 0
    return tokens
