#!/bin/sh
# The page's own tests (types and pure logic), and a browser for the rest. Without npm or a browser: one line, and a failure in CI.
set -eu
cd "$(dirname "$0")"

missing() {
	echo "$1"
	test "${CI:-}" != true
}

# A new machine's lists of packages may be empty or old.
install_chromium() {
	apt-get install -y -qq chromium >/dev/null 2>&1 || { apt-get update -qq >/dev/null && apt-get install -y -qq chromium >/dev/null; }
}

if command -v npm >/dev/null; then
	test -d node_modules || npm ci --silent --no-progress
	npm run --silent check
	npm run --silent test -- --reporter=dot
else
	missing "the page's own tests are skipped: npm is not here"
fi

if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then
	{ command -v apt-get >/dev/null && test "$(id -u)" = 0 && echo "installing chromium (apt-get)" && install_chromium; } ||
		missing "the browser tests are skipped: install chromium to run them"
fi
