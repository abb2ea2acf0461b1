#!/usr/bin/env bash
# complete.sh SHELL FOLDER: reads command lines from stdin and prints what SHELL offers for the last word of each,
# sorted, after the line. The scripts of dtc and dtrun are those that the programs print.
#   bash: calls the function of the script as the shell does.
#   zsh:  types the line into an interactive shell (complete.zsh).
#   fish: asks 'complete -C'.
set -euo pipefail
shell=$1 folder=$2
inputs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$folder"
cd "$folder"
export HOME=$folder
dtc completion "$shell" >"dtc.$shell"
dtrun --completion "$shell" >"dtrun.$shell"

offered_by_bash() { # line
  bash -c '
    source dtc.bash
    source dtrun.bash
    read -ra COMP_WORDS <<<"${1//=/ = }"
    case $1 in *" ") COMP_WORDS+=("") ;; esac
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    "_${COMP_WORDS[0]}"
    printf "%s\n" "${COMPREPLY[@]}"' - "$1"
}

offered_by_fish() { # line
  fish -c 'source dtc.fish; source dtrun.fish; complete -C $argv[1]' "$1" | cut -f1
}

offered_by_zsh() { # line
  "$inputs/complete.zsh" "$1"
}

while IFS= read -r line; do
  echo "[$line]" $("offered_by_$shell" "$line" | LC_ALL=C sort -u)
done
