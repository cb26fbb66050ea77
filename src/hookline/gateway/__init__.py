"""The MCP gateway: an MCP server in front of another one, with hooks around its tools."""
