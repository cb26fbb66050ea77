import os

from hypothesis import HealthCheck, settings

# The clock of a busy machine is no property of ours, and the autouse home is fine for many examples.
settings.register_profile(
    "hookline",
    deadline=None,
    max_examples=int(os.environ.get("HOOKLINE_EXAMPLES", "100")),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
settings.load_profile("hookline")
