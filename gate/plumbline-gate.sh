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

# From here on bash knows only its own special built-ins by their names, whatever functions it was given.
POSIXLY_CORRECT=1
set -euf
unset IFS CDPATH
trap 'exit 4' EXIT

# Start again with the variables that are named here and no others: a loader, an OpenSSL or a locale setting could bring
# a library out of this repository, and a token has no business here. Nothing before the exec may be a program, or a
# command that a function could stand in for. The process keeps its number through the exec, so nobody's variable can
# pass for this one by accident.
case ${plumbline_started-} in
    "$$") ;;
    *)
        plumbline_libraries=${LD_LIBRARY_PATH-}
        unset LD_LIBRARY_PATH LD_PRELOAD LD_AUDIT
        set -- "plumbline_started=$$" /bin/sh "$0" "$@"
        for name in PATH HOME TMPDIR CI TERM COLORTERM NO_COLOR COLUMNS SSH_AUTH_SOCK plumbline_libraries \
            XDG_CACHE_HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS \
            PLUMBLINE_PIN_FILE PLUMBLINE_CACHE_DIR PLUMBLINE_PYTHON PLUMBLINE_SRC \
            http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY \
            SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO GIT_SSL_CAPATH \
            PIP_CONFIG_FILE PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_NO_INDEX PIP_FIND_LINKS PIP_PROXY PIP_CERT \
            PIP_CLIENT_CERT PIP_TRUSTED_HOST PIP_TIMEOUT PIP_DEFAULT_TIMEOUT PIP_RETRIES; do
            eval "value=\${$name-}"
            case $value in ?*) set -- "$name=$value" "$@" ;; esac
        done
        exec /usr/bin/env -i "$@"
        ;;
esac
unset plumbline_started
LC_ALL=C
export LC_ALL
umask 077

private='' chosen=''
# shellcheck disable=SC2329 # the trap calls it
finish() { # whatever ends this without having been chosen is no verdict
    set +e
    if [ -n "$private" ]; then rm -rf "$private"; fi
    [ -n "$chosen" ] || printf 'CONFIGURATION ERROR: the runner could not finish\n' >&2
    exit "${chosen:-4}"
}
trap finish EXIT
trap 'exit 4' HUP INT TERM PIPE
trap '' XFSZ # a file that grows too large is then an error of the writer

leave() { # CODE
    chosen=$1
    exit "$1"
}

say() { # a line that cannot be written changes nothing
    printf 'plumbline: %s\n' "$1" >&2 || :
}

refuse() {
    printf 'CONFIGURATION ERROR: %s\n  -> the gate FAILED before scoring anything\n' "$1" >&2 || :
    leave 4
}

root=$(pwd -P) || refuse "the current folder is not there any more"
[ "$root" != / ] || refuse "run this from the root of the repository"
above=$root
until [ -e "$above/.git" ] || [ -z "$above" ]; do above=${above%/*}; done
[ -z "$above" ] || [ "$above" = "$root" ] || refuse "run this from the root of the repository, $above"
tab=$(printf '\t')
cr=$(printf '\r')
newline='
'

# --- the machine's programs, none from inside this repository -------------------------------------------------------

is_outside() { # FILE-OR-FOLDER: absolute, and nothing on the way to it in this repository
    place=$1
    hops=0
    while :; do
        case $place in /*) ;; *) return 1 ;; esac
        where=$place
        [ -d "$where" ] || where=${where%/*}
        where=$(cd -P "${where:-/}" 2>/dev/null && pwd -P) || return 1
        case $where/ in "$root"/*) return 1 ;; esac
        if [ ! -L "$place" ] || [ -d "$place" ]; then return 0; fi
        hops=$((hops + 1))
        [ "$hops" -lt 40 ] || return 1
        place=$(readlink "$place") || return 1
        case $place in /*) ;; *) place=$where/$place ;; esac
    done
}

only_outside() { # FOLDERS, by colons; sets kept
    kept=
    IFS=:
    for folder in $1; do
        unset IFS
        if is_outside "$folder"; then kept=$kept${kept:+:}$folder; fi
    done
    unset IFS
}

only_outside "${PATH-}"
PATH=$kept
export PATH
only_outside "${plumbline_libraries-}"
libraries=$kept
unset plumbline_libraries

run_python() { # for some builds of Python the way to their own library
    if [ -n "$libraries" ]; then
        LD_LIBRARY_PATH=$libraries "$@"
    else
        "$@"
    fi
}

usable_python() { # a program that ends well without having understood the question is no Python
    is_outside "$1" || return 1
    said=$(run_python "$1" -I -S -c 'import sys; print(sys.version_info >= (3, 11) and int(sys.argv[1]) * 3, sys.executable)' \
        $$ </dev/null 2>/dev/null) || return 1
    [ "${said%% *}" = $(($$ * 3)) ] || return 1
    python=${said#* } # the interpreter itself, where what was found is a script that starts it
    is_outside "$python"
}

find_python() { # sets python
    wanted=${PLUMBLINE_PYTHON:-}
    case $wanted in
        -*) refuse "PLUMBLINE_PYTHON reads like an option" ;;
        */*) candidates=$wanted ;;
        ?*) candidates=$(command -v "$wanted") || candidates= ;;
        *) candidates="$(command -v python3)$newline$(command -v python)" || : ;;
    esac
    while IFS= read -r candidate; do
        if [ -n "$candidate" ] && usable_python "$candidate"; then return; fi
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
    case /$2/ in
        */../*) refuse "$pin: $1 must not leave the repository" ;;
        */.[gG][iI][tT]/*) refuse "$pin: $1 must not lie in .git" ;;
    esac
}

stays_inside() { # FILE of this repository, its links followed
    place=$root/$1
    hops=0
    while :; do
        where=$(cd -P "${place%/*}" 2>/dev/null && pwd -P) || return 1
        case $where/ in "$root"/*) ;; *) return 1 ;; esac
        [ -L "$place" ] || return 0
        hops=$((hops + 1))
        [ "$hops" -lt 40 ] || return 1
        target=$(readlink "$place") || return 1
        case $target in /*) place=$target ;; *) place=$where/$target ;; esac
    done
}

read_pin() { # sets repo and ref; everything else is checked here and read again by the harness
    repo='' ref='' config='' baseline='' out='' require_comparable_baseline=''
    [ -f "$pin" ] || refuse "there is no pin file $pin in $root; run this from the root of the repository"
    [ -r "$pin" ] || refuse "the pin file $pin cannot be read"
    if [ "$(tr -d '\t\r\n\040-\176\200-\377' <"$pin" | wc -c)" -ne 0 ]; then
        refuse "$pin: a control character"
    fi
    case $pin in
        /*) ;; # somebody's own choice on this machine
        *)
            if ! stays_inside "$pin"; then refuse "the pin file $pin leads out of $root"; fi
            ;;
    esac
    number=0
    while IFS= read -r line || [ -n "$line" ]; do
        number=$((number + 1))
        [ ${#line} -le 4096 ] || refuse "$pin:$number: longer than 4096 bytes"
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
    found=$(command -v git) || found=
    is_outside "$found" || refuse "git was not found on PATH outside the repository"
    for variable in HOME XDG_CONFIG_HOME SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE GIT_SSL_CAINFO GIT_SSL_CAPATH; do
        eval "value=\${$variable-}"
        # Needed once more for the cache's place, which has rules of its own.
        if [ "$variable" = HOME ]; then home=$value; fi
        if [ -n "$value" ] && ! is_outside "$value"; then unset "$variable"; fi
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

fetch_harness() { # fills $private/fetched, from where it is used
    say "fetching $repo at $ref"
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
    source=$private/fetched
}

keep_harness() { # for the next run; a cache that cannot be written costs time and nothing else
    part=$store.$$.part
    mkdir -p "$cache/harness" && rm -rf "$part" && mv "$private/fetched" "$part" || return 0
    # Another run may have been quicker. Its copy is as good: it is checked at every use.
    if [ -d "$store" ] && [ -n "$damaged" ]; then mv "$store" "$private/damaged" || :; fi
    if [ -d "$store" ] || ! mv "$part" "$store"; then rm -rf "$part"; fi
}

stored() { # a git command that sees the objects in $store, and no configuration of it
    GIT_ALTERNATE_OBJECT_DIRECTORIES=$source/objects git --git-dir="$private/export" "$@" 2>/dev/null
}

export_harness() { # writes $harness from $source and checks it by content; 1 when it is not the commit
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
        case $base in /*) ;; *) base=${home:+$home/.cache} ;; esac
        [ -n "$base" ] || refuse "neither HOME nor XDG_CACHE_HOME is set; set PLUMBLINE_CACHE_DIR"
        cache=$base/plumbline
    fi
    case $cache in -*) refuse "PLUMBLINE_CACHE_DIR reads like an option" ;; esac
    case $cache in *:*) refuse "the name of the cache $cache holds a colon, which git cannot take" ;; esac
    case $cache in /*) ;; *) cache=$root/${cache#./} ;; esac
    cache=${cache%/}
    given=$cache
    mkdir -p "$cache" 2>/dev/null || refuse "the cache $cache cannot be made"
    cache=$(cd -P "$cache" && pwd -P) || refuse "the cache cannot be entered"
    case $given/ in
        "$root"/*) inside=1 ;;
        *) case $cache/ in "$root"/*) inside=1 ;; *) inside= ;; esac ;;
    esac
    # Keyed by both: that a commit is on a branch was found out for this repository and no other.
    key=$(printf '%s %s' "$repo" "$ref" | git hash-object -t blob --stdin) || refuse "git cannot hash the pin"
    store=$cache/harness/$key.git
    [ -n "$inside" ] || return 0
    # Whoever owns a link on the way decides what is written over.
    [ "$given" = "$cache" ] || refuse "the cache $given lies in the repository and behind a link"
    [ "$cache" != "$root" ] || refuse "the cache must not be the repository itself"
    for name in .gitignore harness wheels "harness/$key.git"; do
        [ ! -L "$cache/$name" ] || refuse "the cache $cache lies in the repository and holds a link, $name"
    done
    if [ -e "$root/.git" ]; then
        tracked=$(git -C "$root" -c core.fsmonitor=false ls-files -- "$cache" 2>/dev/null) ||
            refuse "git cannot say what this repository tracks, so no cache may lie in it"
        [ -z "$tracked" ] || refuse "the cache $cache holds files that this repository tracks"
    fi
    [ -e "$cache/.gitignore" ] || printf '*\n' >"$cache/.gitignore" || :
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
case $private in
    /*:*) refuse "the name of the temporary folder $private holds a colon, which git cannot take" ;;
    /*) ;;
    *) refuse "TMPDIR is no absolute path" ;;
esac
prepare_git
find_cache

damaged=
if [ -n "${PLUMBLINE_SRC:-}" ]; then
    harness=$(cd -P "$PLUMBLINE_SRC" 2>/dev/null && pwd -P) || refuse "PLUMBLINE_SRC is no folder: $PLUMBLINE_SRC"
    say "NOT PINNED: running the checkout in PLUMBLINE_SRC, $harness"
    say "NOT REPRODUCIBLE: this run says nothing about commit $ref"
else
    harness=$private/harness
    source=$store
    if [ ! -d "$store" ] || ! export_harness; then
        if [ -d "$store" ]; then
            damaged=1
            say "the cached harness could not be used; it is not commit $ref, or $private is full"
        fi
        fetch_harness
        export_harness || refuse "what $repo sent is not commit $ref, or $private is full"
        keep_harness 2>/dev/null || :
    fi
fi
[ -f "$harness/src/plumbline/__main__.py" ] || refuse "commit $ref of $repo holds no src/plumbline: not the harness"
[ -f "$harness/entrypoint.py" ] || refuse "commit $ref of $repo holds no entrypoint.py: not a harness that this can run"

# What the pin decides comes last, so that no argument of this call can decide otherwise.
status=0
run_python "$python" -I -S -X utf8 "$harness/entrypoint.py" local "$@" --pin "$pin" --private "$private" \
    --cache "$cache" || status=$?
case $status in
    # A verdict counts when the launcher also left the number in the folder of this run.
    [0-1]) if [ "$(cat "$private/ended" 2>/dev/null)" = "$status" ]; then leave "$status"; fi ;;
    [2-5]) leave "$status" ;;
esac
printf 'INTERNAL ERROR: the harness ended with %s and left no verdict that agrees\n' "$status" >&2 || :
leave 5
