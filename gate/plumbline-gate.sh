#!/bin/sh
# Does the evidence in this repository pass the gate that plumbline.pin names?
#
# Copy this file and plumbline.pin into the repository and run it from the repository's root, on a developer's machine
# or in any CI. It fetches the pinned commit of the harness, checks it by content and runs it. Exit codes: 0 pass,
# 1 fail, 3 the evidence is not what was sealed, 4 configuration or environment, 5 a fault of the harness. There is no
# way through that skips the gate: whatever cannot be resolved ends with 4.
#
#   PLUMBLINE_PIN_FILE   the pin (plumbline.pin)
#   PLUMBLINE_CACHE_DIR  where fetched commits and wheels stay ($XDG_CACHE_HOME/plumbline or ~/.cache/plumbline)
#   PLUMBLINE_PYTHON     interpreter, 3.11 or newer (python3 on PATH)
#   PLUMBLINE_SRC        a checkout to run instead of the pinned commit, to develop the harness; refused in CI

set -euf
LC_ALL=C
export LC_ALL
unset IFS CDPATH

refuse() {
    printf 'CONFIGURATION ERROR: %s\n' "$1" >&2
    printf '  -> the gate FAILED before scoring anything\n' >&2
    exit 4
}

root=$(pwd -P)
[ "$root" != / ] || refuse "run this from the root of the repository"
tab=$(printf '\t')
cr=$(printf '\r')
newline='
'

# --- the machine's programs, none from inside this repository -------------------------------------------------------

is_outside() { # FILE-OR-FOLDER: absolute, and not in this repository
    case $1 in /*) ;; *) return 1 ;; esac
    place=$1
    [ -d "$place" ] || place=${place%/*}
    place=$(cd -P "${place:-/}" 2>/dev/null && pwd -P) || return 1
    case $place/ in "$root"/*) return 1 ;; esac
}

clean=
IFS=:
for folder in ${PATH-}; do
    if is_outside "$folder"; then clean=$clean${clean:+:}$folder; fi
done
unset IFS
PATH=$clean
export PATH

usable_python() {
    is_outside "$1" && "$1" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 11))' </dev/null >/dev/null 2>&1
}

find_python() { # sets python
    wanted=${PLUMBLINE_PYTHON:-}
    case $wanted in
        -*) refuse "PLUMBLINE_PYTHON reads like an option" ;;
        */*) candidates=$wanted ;;
        ?*) candidates=$(command -v "$wanted") || candidates= ;;
        *) candidates="$(command -v python3)$newline$(command -v python)" || : ;;
    esac
    while IFS= read -r python; do
        if [ -n "$python" ] && usable_python "$python"; then return; fi
    done <<CANDIDATES
$candidates
CANDIDATES
    refuse "no Python 3.11 or newer was found outside the repository${wanted:+ as $wanted}; set PLUMBLINE_PYTHON"
}

# --- the pin ---------------------------------------------------------------------------------------------------------

trim() { # sets trimmed
    trimmed=$1
    while :; do
        case $trimmed in
            ' '* | "$tab"*) trimmed=${trimmed#?} ;;
            *' ' | *"$tab") trimmed=${trimmed%?} ;;
            *) break ;;
        esac
    done
}

check_path() { # KEY VALUE
    case $2 in
        -*) refuse "$pin: $1: a path that reads like an option" ;;
        /* | '~'* | *\\* | *:*) refuse "$pin: $1 must be a relative path with forward slashes" ;;
    esac
    case /$2/ in */../*) refuse "$pin: $1 must not leave the repository" ;; esac
}

read_pin() { # sets repo and ref; everything else is checked here and read again by the harness
    repo='' ref='' config='' baseline='' out='' require_comparable_baseline=''
    [ -f "$pin" ] || refuse "there is no pin file $pin in $root; run this from the root of the repository"
    [ -r "$pin" ] || refuse "the pin file $pin cannot be read"
    if [ "$(tr -d '\t\r\n\040-\176\200-\377' <"$pin" | wc -c)" -ne 0 ]; then
        refuse "$pin: a control character"
    fi
    number=0
    while IFS= read -r line || [ -n "$line" ]; do
        number=$((number + 1))
        line=${line%"$cr"}
        case $line in *"$cr"*) refuse "$pin:$number: a control character" ;; esac
        trim "${line%%#*}"
        [ -n "$trimmed" ] || continue
        case $trimmed in *=*) ;; *) refuse "$pin:$number: not of the form key = value" ;; esac
        content=$trimmed
        trim "${content%%=*}"
        key=$trimmed
        trim "${content#*=}"
        case $key in
            repo | ref | config | baseline | out | require_comparable_baseline) ;;
            '' | *[!A-Za-z0-9_-]*) refuse "$pin:$number: not of the form key = value" ;;
            *) refuse "$pin:$number: unknown key $key" ;;
        esac
        eval "earlier=\$$key" # one of the six names above
        [ -z "$earlier" ] || refuse "$pin:$number: the key $key stands there twice"
        [ -n "$trimmed" ] || refuse "$pin:$number: $key is empty"
        eval "$key=\$trimmed"
    done <"$pin"
    [ -n "$repo" ] || refuse "$pin: the key repo is missing"
    [ -n "$ref" ] || refuse "$pin: the key ref is missing"
    [ -n "$config" ] || refuse "$pin: the key config is missing"
    case $repo in
        https://?* | ssh://?* | file://?*) ;;
        *) refuse "$pin: repo must be an https://, ssh:// or file:// URL (ssh://git@host/org/repo.git)" ;;
    esac
    case $repo in *[!!-~]* | *[\'\"\\]*) refuse "$pin: repo holds a character that no URL may hold" ;; esac
    case $repo in
        ssh://*) ;;
        *@*) refuse "$pin: repo must not hold credentials" ;;
    esac
    case $ref in
        0000000000000000000000000000000000000000)
            refuse "$pin: ref is still the template's; write the commit of the harness there"
            ;;
    esac
    case $ref in *[!0-9a-f]*) bad=1 ;; *) bad='' ;; esac
    if [ -n "$bad" ] || [ ${#ref} -ne 40 ]; then
        refuse "$pin: ref must be a commit, 40 lowercase hex digits, not a branch, tag or short hash"
    fi
    check_path config "$config"
    if [ -n "$baseline" ]; then check_path baseline "$baseline"; fi
    if [ -n "$out" ]; then check_path out "$out"; fi
    case $require_comparable_baseline in
        '' | true | false) ;;
        *) refuse "$pin: require_comparable_baseline must be exactly true or false" ;;
    esac
}

# --- the harness -----------------------------------------------------------------------------------------------------

prepare_git() { # nobody's configuration, hooks, attributes, filters or URL rewrites
    command -v git >/dev/null 2>&1 || refuse "git was not found on PATH outside the repository"
    for variable in $(env | sed -n 's/^\(GIT_[A-Za-z0-9_]*\)=.*/\1/p'); do
        case $variable in
            GIT_SSL_CAINFO | GIT_SSL_CAPATH) ;;
            *) unset "$variable" ;;
        esac
    done
    cat >"$private/gitconfig" <<'CONFIG'
[core]
	hooksPath = /dev/null
	attributesFile = /dev/null
	fsmonitor = false
	looseCompression = 0
	fsync = none
[gc]
	auto = 0
[maintenance]
	auto = false
[fetch]
	fsckObjects = true
[credential]
	helper =
[http]
	lowSpeedLimit = 1000
	lowSpeedTime = 60
[safe]
	directory = *
CONFIG
    GIT_CONFIG_GLOBAL=$private/gitconfig
    GIT_CONFIG_NOSYSTEM=1
    GIT_ATTR_NOSYSTEM=1
    GIT_NO_REPLACE_OBJECTS=1
    GIT_NO_LAZY_FETCH=1
    GIT_TERMINAL_PROMPT=0
    GIT_ASKPASS=
    GIT_ALLOW_PROTOCOL=https:ssh:file
    GIT_SSH_COMMAND='ssh -oBatchMode=yes'
    export GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_ATTR_NOSYSTEM GIT_NO_REPLACE_OBJECTS GIT_NO_LAZY_FETCH \
        GIT_TERMINAL_PROMPT GIT_ASKPASS GIT_ALLOW_PROTOCOL GIT_SSH_COMMAND
}

new_git() { # FOLDER
    git init --quiet --bare --template= --object-format=sha1 "$1" || refuse "git cannot make $1"
    mkdir -p "$1/info"
    # The last word on every file, whatever a .gitattributes in the tree says: bytes stay as they are.
    printf '* -text -eol -ident -filter -working-tree-encoding\n' >"$1/info/attributes"
}

fetch() { # FOLDER, then what git fetch takes
    folder=$1
    shift
    git --git-dir="$folder" fetch --quiet --no-tags --no-recurse-submodules --no-write-fetch-head "$@"
}

reason() { # the first fault that git named
    sed -n -e '/^fatal:/{p;q;}' -e '/^error:/{p;q;}' -e '/^remote:/{p;q;}' "$private/reason"
}

all_refs='+refs/heads/*:refs/all/heads/* +refs/tags/*:refs/all/tags/*'

fetch_harness() { # fills $store
    printf 'plumbline: fetching %s at %s\n' "$repo" "$ref" >&2
    tips=$(git ls-remote --heads --tags "$repo" 2>"$private/reason") ||
        refuse "cannot reach the pinned harness $repo: $(reason)"
    new_git "$private/fetched"
    # Not every server hands out a commit by its hash; all hand out their branches and tags.
    # shellcheck disable=SC2086 # two words are meant
    fetch "$private/fetched" --depth=1 "$repo" "$ref" 2>/dev/null ||
        fetch "$private/fetched" "$repo" $all_refs 2>"$private/reason" ||
        refuse "cannot fetch from the pinned harness $repo: $(reason)"
    git --git-dir="$private/fetched" cat-file -e "$ref^{commit}" 2>/dev/null || refuse "$repo has no commit $ref"
    case $newline$tips in
        *"$newline$ref$tab"*) ;;
        *)
            # A host that stores forks together hands out a fork's commit under the original's name. Only what a
            # branch or a tag leads to was put there by somebody who may write there.
            new_git "$private/history"
            # shellcheck disable=SC2086 # two words are meant
            fetch "$private/history" --filter=tree:0 "$repo" $all_refs 2>"$private/reason" ||
                refuse "cannot read the history of $repo: $(reason)"
            reached=$(git --git-dir="$private/history" for-each-ref --count=1 --contains="$ref" 2>/dev/null) || reached=
            [ -n "$reached" ] || refuse "commit $ref is on no branch and under no tag of $repo"
            ;;
    esac
    mkdir -p "$cache/harness" || refuse "the cache $cache cannot be written"
    rm -rf "$store"
    # When another run was quicker its copy is as good: it is checked like any other.
    mv "$private/fetched" "$store" 2>/dev/null || [ -d "$store" ] || refuse "the cache $cache cannot be written"
}

stored() { # a git command that sees the objects in $store, and no configuration of it
    GIT_ALTERNATE_OBJECT_DIRECTORIES=$store/objects git --git-dir="$private/export" "$@" 2>/dev/null
}

export_harness() { # writes $harness from $store and checks it by content; 1 when it is not the commit
    rm -rf "$harness" "$private/export" "$private/check"
    mkdir "$harness"
    new_git "$private/export"
    new_git "$private/check"
    stored cat-file commit "$ref" >"$private/commit" || return 1
    stored ls-tree -r "$ref" >"$private/listing" || return 1
    if grep -q '^1[26]0000 ' "$private/listing"; then refuse "commit $ref holds links or submodules: not the harness"; fi
    stored read-tree "$ref" || return 1
    stored --work-tree="$harness" checkout-index --all --quiet || return 1
    # From here on nothing that was stored is asked: the names follow from the bytes alone.
    [ "$(git --git-dir="$private/check" hash-object -t commit --stdin <"$private/commit")" = "$ref" ] || return 1
    git --git-dir="$private/check" --work-tree="$harness" add --all --force "$harness" 2>/dev/null || return 1
    built=$(git --git-dir="$private/check" --work-tree="$harness" write-tree) || return 1
    [ "$(sed -n '1s/^tree //p' "$private/commit")" = "$built" ]
}

find_cache() { # sets cache and store
    cache=${PLUMBLINE_CACHE_DIR:-}
    if [ -z "$cache" ]; then
        base=${XDG_CACHE_HOME:-}
        case $base in /*) ;; *) base=${HOME:+$HOME/.cache} ;; esac
        [ -n "$base" ] || refuse "neither HOME nor XDG_CACHE_HOME is set; set PLUMBLINE_CACHE_DIR"
        cache=$base/plumbline
    fi
    case $cache in -*) refuse "PLUMBLINE_CACHE_DIR reads like an option" ;; esac
    mkdir -p "$cache" 2>/dev/null || refuse "the cache $cache cannot be made"
    cache=$(cd -P "$cache" && pwd -P) || refuse "the cache cannot be entered"
    case $cache/ in
        "$root"/)
            refuse "the cache must not be the repository itself"
            ;;
        "$root"/*)
            tracked=$(git -C "$root" -c core.fsmonitor=false ls-files -- "$cache" 2>/dev/null) || tracked=
            [ -z "$tracked" ] || refuse "the cache $cache holds files that this repository tracks"
            [ -e "$cache/.gitignore" ] || printf '*\n' >"$cache/.gitignore"
            ;;
    esac
    store=$cache/harness/$ref.git
}

# --- the run ---------------------------------------------------------------------------------------------------------

pin=${PLUMBLINE_PIN_FILE:-plumbline.pin}
case $pin in -*) refuse "PLUMBLINE_PIN_FILE reads like an option" ;; esac
if [ -n "${PLUMBLINE_SRC:-}" ] && [ -n "${CI:-}" ]; then
    refuse "PLUMBLINE_SRC is set in CI; there the pin decides, and nothing else"
fi
read_pin
find_python
private=$(mktemp -d "${TMPDIR:-/tmp}/plumbline.XXXXXXXX") || refuse "no temporary folder can be made"
trap 'rm -rf "$private"' EXIT
trap 'exit 4' HUP INT TERM
prepare_git
find_cache

if [ -n "${PLUMBLINE_SRC:-}" ]; then
    harness=$(cd -P "$PLUMBLINE_SRC" 2>/dev/null && pwd -P) || refuse "PLUMBLINE_SRC is no folder: $PLUMBLINE_SRC"
    printf 'plumbline: NOT PINNED: running the checkout in PLUMBLINE_SRC, %s\n' "$harness" >&2
    printf 'plumbline: NOT REPRODUCIBLE: this run says nothing about commit %s\n' "$ref" >&2
else
    harness=$private/harness
    if [ ! -d "$store" ]; then
        fetch_harness
        export_harness || refuse "what $repo sent is not commit $ref"
    elif ! export_harness; then
        printf 'plumbline: the cached harness is not commit %s any more\n' "$ref" >&2
        fetch_harness
        export_harness || refuse "what $repo sent is not commit $ref"
    fi
fi
[ -f "$harness/src/plumbline/__main__.py" ] || refuse "commit $ref of $repo holds no src/plumbline: not the harness"
[ -f "$harness/entrypoint.py" ] || refuse "commit $ref of $repo holds no entrypoint.py: not a harness that this can run"

# What the pin decides comes last, so that no argument of this call can decide otherwise.
status=0
"$python" -I -S -X utf8 "$harness/entrypoint.py" local "$@" --pin "$pin" --private "$private" --cache "$cache" ||
    status=$?
case $status in
    [0-5]) exit "$status" ;;
    *) printf 'INTERNAL ERROR: the harness ended with %s\n' "$status" >&2 ;;
esac
exit 5
