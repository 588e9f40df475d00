#!/bin/bash
# Which variables and which Python does a part of the action start with?
#
# Called by action.yml as `step.sh <part>`. An environment is cut down to the names below before any program is
# started: a loader, an OpenSSL or a locale setting of the caller's can name a library, and a relative or repository
# path in it would let a pull request bring that library.

set -eu -o pipefail
own=$GITHUB_ACTION_PATH
root=$(cd -P -- "${GITHUB_WORKSPACE:-/nonexistent}" 2>/dev/null && pwd -P) || root=
libraries=${PLUMBLINE_LIBRARIES:-}

for name in $(compgen -e); do
    case $name in
        PLUMBLINE_LIBRARIES) unset -v "$name" ;;
        GITHUB_* | RUNNER_* | PLUMBLINE_* | PIP_* | PATH | HOME | TMPDIR | CI | pythonLocation) ;;
        XDG_CONFIG_HOME | XDG_CONFIG_DIRS | XDG_CACHE_HOME | SSH_AUTH_SOCK) ;;
        [Hh][Tt][Tt][Pp]_[Pp]* | [Hh][Tt][Tt][Pp][Ss]_[Pp]* | [Nn][Oo]_[Pp]* | [Aa][Ll][Ll]_[Pp]*) ;;
        SSL_CERT_FILE | SSL_CERT_DIR | REQUESTS_CA_BUNDLE | CURL_CA_BUNDLE | GIT_SSL_CAINFO | GIT_SSL_CAPATH) ;;
        *) unset -v "$name" 2>/dev/null || : ;;
    esac
done

refuse() {
    printf '::error title=Plumbline::CONFIGURATION ERROR: %s\n' "$1" || :
    exit 4
}

# Absolute, and nothing on the way to it in the workspace: whoever owns a link decides where it ends.
is_outside() {
    local place=$1 folder hops=0
    while :; do
        case $place in /*) ;; *) return 1 ;; esac
        [[ $place != *[[:cntrl:]]* ]] || return 1
        folder=$place
        [ -d "$folder" ] || folder=${folder%/*}
        folder=$(cd -P -- "${folder:-/}" 2>/dev/null && pwd -P) || return 1
        case $folder/ in "$root"/*) return 1 ;; esac
        [ -L "$place" ] && [ ! -d "$place" ] || return 0
        hops=$((hops + 1))
        [ $hops -lt 40 ] || return 1
        place=$(readlink "$place") || return 1
        case $place in /*) ;; *) place=$folder/$place ;; esac
    done
}

# Only absolute entries that exist outside the workspace; for some builds of Python the way to their own library.
only_outside() {
    local kept='' entry IFS=:
    set -f
    for entry in $1; do
        if [ -d "$entry" ] && is_outside "$entry"; then kept=$kept${kept:+:}$entry; fi
    done
    set +f
    printf '%s' "$kept"
}

# A program that ends well without having understood the question is no Python.
take() {
    is_outside "$1" || return 1
    local number=$((RANDOM * RANDOM + 2)) said
    # shellcheck disable=SC2016 # Python reads it
    said=$("$1" -I -S -c 'import sys; print(sys.version_info >= (3, 11) and int(sys.argv[1]) * 3, sys.executable)' \
        "$number" </dev/null 2>/dev/null) || return 1
    [ "${said%% *}" = $((number * 3)) ] && is_outside "${said#* }" || return 1
    # The interpreter itself: what was found may be a script that starts it, and needs variables that are gone.
    printf 'path=%s\n' "${said#* }" >>"$GITHUB_OUTPUT"
    exit 0
}

search() {
    local folder IFS=:
    set -f
    for folder in $PATH; do take "$folder/$1" || :; done
    set +f
}

[ -n "$root" ] && [ "$root" != / ] || refuse "GITHUB_WORKSPACE does not name a folder."
PATH=$(only_outside "$PATH")
libraries=$(only_outside "$libraries")
if [ -n "$libraries" ]; then export LD_LIBRARY_PATH=$libraries; fi

if [ "$1" = python ]; then
    case $PLUMBLINE_WANTED in
        '')
            if [ -n "${pythonLocation:-}" ]; then take "$pythonLocation/bin/python3" || :; fi
            search python3
            search python
            ;;
        */*) take "$PLUMBLINE_WANTED" || : ;;
        *) search "$PLUMBLINE_WANTED" ;;
    esac
    refuse 'no Python 3.11 or newer was found outside the workspace. Add actions/setup-python, or name one with the input python.'
fi

start=("$PLUMBLINE_PYTHON" -I -S -X utf8 "$own/entrypoint.py" "$1")
[ "$1" = verdict ] || exec "${start[@]}"

status=4
if [ -n "$PLUMBLINE_PYTHON" ]; then
    status=0
    "${start[@]}" || status=$?
fi
# 0 and 1 are verdicts: they count when the launcher also left the number in the folder of this run.
case $status in
    [0-1]) [ "$(cat "$PLUMBLINE_STATE/ended" 2>/dev/null)" = "$status" ] || status=5 ;;
    [2-4]) ;;
    *) status=5 ;;
esac
printf 'exit-code=%s\n' "$status" >>"$GITHUB_OUTPUT" || :
exit "$status"
