#!/usr/bin/env bash
# The steps of the GitHub Action: run, compare, comment, and end with the code of the gates.
set -uo pipefail

output=${CALLSCORE_OUTPUT:-callscore-results}
mkdir -p -- "$output" || exit 2

options=(--resume --yes --json "$output/card.json" --junit "$output/junit.xml")
if [ -n "${CALLSCORE_BUDGET:-}" ]; then
  options+=(--budget "$CALLSCORE_BUDGET")
fi
callscore run "$CALLSCORE_EVAL" "${options[@]}"
code=$?

# 0, 1 and 3 leave scores to compare; 2 and above do not.
scored=false
case $code in 0 | 1 | 3) scored=true ;; esac

if $scored && [ -n "${CALLSCORE_FROM:-}" ] && [ -n "${CALLSCORE_TO:-}" ]; then
  comparison=$output/comparison.md
  callscore compare "$CALLSCORE_FROM" "$CALLSCORE_TO" --markdown "$comparison"
  compared=$?
  if [ "$compared" -ne 0 ]; then
    [ "$code" -ne 0 ] || code=$compared
  else
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
      cat -- "$comparison" >>"$GITHUB_STEP_SUMMARY"
    fi
    if [ "${CALLSCORE_COMMENT:-true}" = true ] && [ -n "${CALLSCORE_PULL_REQUEST:-}" ]; then
      gh pr comment "$CALLSCORE_PULL_REQUEST" --edit-last --create-if-none --body-file "$comparison" ||
        gh pr comment "$CALLSCORE_PULL_REQUEST" --body-file "$comparison" ||
        echo "::warning title=Callscore::the comparison could not be commented"
    fi
  fi
fi

if [ -n "${GITHUB_OUTPUT:-}" ]; then
  echo "exit-code=$code" >>"$GITHUB_OUTPUT"
fi
exit "$code"
