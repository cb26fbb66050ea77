"""BeforeModel: blocks requests with a card number."""

import re

from hookline.hook import BeforeModel, deny, main

CARD = re.compile(r"\b(?:\d[ -]?){15,16}\b")


def guard(event: BeforeModel) -> None:
    """Looks at the whole conversation, which is sent again with each request."""
    for message in event.messages:
        for number in CARD.findall(str(message.get("content"))):
            if _is_card([int(digit) for digit in re.sub(r"\D", "", number)]):
                deny("There is a card number in the conversation; remove it first.")


def _is_card(digits: list[int]) -> bool:
    """Whether the check digit is right."""
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


main(guard)
