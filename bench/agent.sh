#!/bin/sh
# An agent that costs next to nothing: it shakes hands, and answers any message with what $BENCH_ANSWER prints.
# Spoken is the stream-json of native/claude.py; found on PATH under that agent's name.
case "$1" in --version) echo 2.1.326; exit ;; esac
while read -r line; do
    case "$line" in
    *'"initialize"'*)
        id=${line#*'"request_id":"'}
        printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{}}}\n' "${id%%\"*}"
        ;;
    *'"user"'*) $BENCH_ANSWER ;;
    esac
done
