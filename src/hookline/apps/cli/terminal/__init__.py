"""The interactive agent, and the output of its other modes."""
