cat <<'E' | sh
$(cat a.sh) `b.sh`
E
case $x in (a|b) ./a.sh;; esac; [[ -f a.sh ]] && python3 -m pkg.mod