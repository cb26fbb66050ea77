"""BeforeModel: adds the house rules to the request."""

from hookline.hook import BeforeModel, Rewrite, main

RULES = "Write British English. Never mention customers by name."


def add_rules(event: BeforeModel) -> Rewrite:
    """Keeps the conversation as it is."""
    return Rewrite(llm_request={"messages": [{"role": "system", "content": RULES}, *event.messages]})


main(add_rules)
