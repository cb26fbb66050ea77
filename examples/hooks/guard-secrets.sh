#!/bin/sh
# BeforeTool: refuses to touch files that usually hold secrets.
# Exit code 2 blocks, and stderr is the reason that the model gets.
# The input is one line without spaces between the fields, so a pattern can look for a field and its value.
if grep -Eq '"(file_path|path)":"([^"]*/)?(\.env(\.[^"/]*)?|id_[a-z0-9]+|[^"/]*\.(pem|key|p12))"'; then
    echo "Files with secrets are off limits; ask the user to do this by hand." >&2
    exit 2
fi
