#!/bin/sh
# BeforeTool: refuses to touch files that usually hold secrets.
# Exit code 2 blocks; what stands on stderr is the reason that the model is told.
input=$(cat)
case $input in
*'"file_path":"'*.env'"'* | *'"file_path":"'*id_rsa'"'* | *'"file_path":"'*.pem'"'*)
    echo "Files with secrets are off limits; ask the user to do this by hand." >&2
    exit 2
    ;;
esac
