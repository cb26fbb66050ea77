"""The record of a company's machines: log records in a stream, signed heads of their chains, and their proof."""
