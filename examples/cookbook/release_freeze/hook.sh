# BeforeTool: denies pushing and deploying while the file exists. FREEZE_FILE names another one.
input=$(cat)
[ -e "${FREEZE_FILE:-.freeze}" ] || exit 0
case $input in
*'"command":"git push'* | *'"command":"make deploy'* | *'"command":"kubectl apply'*)
    echo "There is a release freeze; commit, and leave pushing to the user." >&2
    exit 2
    ;;
esac
