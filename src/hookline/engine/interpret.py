"""The single reading of the fields that all events share: callers ask here, nobody parses them again."""

from hookline.contract.outputs import DEFAULT_REASON, DefaultHookOutput
from hookline.contract.results import AggregatedHookResult, ProcessedHookResult
from hookline.contract.wire import trim


def process_common_hook_output_fields(result: AggregatedHookResult) -> ProcessedHookResult:
    """Whether the agent has to stop and why, what the model is to be told, and whether the user is shown the result."""
    output = result.final_output
    if output is None:
        return ProcessedHookResult(
            aggregated=result, should_stop=False, stop_reason=None, system_message=None, suppress_output=False
        )
    should_stop = output.should_stop_execution()
    message = output.system_message
    return ProcessedHookResult(
        aggregated=result,
        should_stop=should_stop,
        stop_reason=_stop_reason(output) if should_stop else None,
        system_message=message if message and trim(message) else None,
        suppress_output=output.suppress_output,
    )


def _stop_reason(output: DefaultHookOutput) -> str:
    given = (output.stop_reason, output.get_effective_reason(), output.reason)
    return next((text for reason in given if reason and (text := trim(reason))), DEFAULT_REASON)
