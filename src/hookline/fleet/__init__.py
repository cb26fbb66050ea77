"""A company's machines: signed policy, the record of what hooks did, and hooks on other machines, over NATS."""
