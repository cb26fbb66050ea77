# BeforeTool: denies `make deploy` outside office hours.
grep -q '"command":"make deploy' || exit 0
hour=${HOOK_HOUR:-$(date +%H)}
[ "${hour#0}" -ge 9 ] && [ "${hour#0}" -lt 17 ] && exit 0
echo "Deploy between 9 and 17 o'clock; it is ${hour} now." >&2
exit 2
