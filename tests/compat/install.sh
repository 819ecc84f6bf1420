#!/bin/sh
# Installs the foreign programs that the compat tests run, each in a folder of its own outside the repository:
# $DOCKET_COMPAT_DIR, by default ~/.cache/docket-compat. What is there already in the pinned version is left alone.
#
#   install.sh ci     claude, codex, gemini, qwen, the providers' Python SDKs, the foreign verifier, and a browser with
#                     axe-core for the page of a run: what CI runs
#   install.sh all    the same, and opencode, copilot, pi, cline, aider and mini-swe-agent
#   install.sh NAME   one of: npm npm-large page browser docket-ai sdks aider mini
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${DOCKET_COMPAT_DIR:-$HOME/.cache/docket-compat}
mkdir -p "$root"

# Node trusts the authorities it was built with; behind a proxy with one of its own, those the system trusts are meant.
system_authorities=/etc/ssl/certs/ca-certificates.crt
if [ -z "${NODE_EXTRA_CA_CERTS:-}" ] && [ -r "$system_authorities" ]; then
    export NODE_EXTRA_CA_CERTS="$system_authorities"
fi

say() { printf '%s\n' "compat: $*" >&2; }

# current PART FILE: whether PART was installed from exactly this FILE.
current() { [ -f "$root/$1/.installed" ] && cmp -s "$root/$1/.installed" "$2"; }

find_python() {
    # aider has no release for Python 3.13 and newer; the others take any of these.
    for name in ${COMPAT_PYTHON:-} python3.12 python3.11 python3; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    say "Python 3.11 or 3.12 was not found on PATH"
    exit 1
}

python_part() {
    if current "$1" "$here/$1.txt"; then
        return
    fi
    python=$(find_python)
    say "installing $(tr '\n' ' ' <"$here/$1.txt")into $root/$1"
    rm -rf "${root:?}/$1"
    "$python" -m venv "$root/$1"
    "$root/$1/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$here/$1.txt"
    cp "$here/$1.txt" "$root/$1/.installed"
}

npm_part() {
    if current "$1" "$here/$1.json"; then
        return
    fi
    if ! command -v npm >/dev/null 2>&1; then
        say "npm was not found on PATH; what $1.json names needs Node 20 or newer"
        exit 1
    fi
    say "installing what $1.json names into $root/$1"
    rm -rf "${root:?}/$1"
    mkdir -p "$root/$1"
    cp "$here/$1.json" "$root/$1/package.json"
    npm install --prefix "$root/$1" --no-audit --no-fund --no-package-lock --loglevel=error >&2
    cp "$here/$1.json" "$root/$1/.installed"
}

# A browser comes with the system; only where this may install it is it installed.
browser_part() {
    if command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1; then
        return
    fi
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        say "no Chromium was found on PATH: the tests in a browser are skipped (Debian: apt-get install chromium)"
        return
    fi
    say "installing Debian's Chromium"
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-liberation; } >/dev/null 2>&1 ||
        say "Chromium could not be installed: the tests in a browser are skipped"
}

part() {
    case $1 in
        npm | npm-large | page) npm_part "$1" ;;
        browser) browser_part ;;
        docket-ai | sdks | aider | mini) python_part "$1" ;;
        *)
            say "no such part: $1 (npm npm-large page browser docket-ai sdks aider mini, or ci, or all)"
            exit 2
            ;;
    esac
}

case ${1:-} in
    ci) set -- npm page browser docket-ai sdks ;;
    all) set -- npm npm-large page browser docket-ai sdks aider mini ;;
    "")
        sed -n '2,8p' "$0" | cut -c3-
        exit 2
        ;;
esac
for name in "$@"; do
    part "$name"
done
