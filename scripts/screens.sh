#!/usr/bin/env bash
# Takes the README's pictures of the screens from a real terminal (tmux) and real runs, and puts them between
# the marks in README.md. Needs build/boost-tui, tmux and an otherwise idle machine; takes three or four minutes.
set -eu
cd "$(dirname "$0")/.."
# The pictures need not name this machine: where that is allowed they are taken under another name.
if [ -z "${SCREENS_INNER:-}" ] && unshare -u true 2>/dev/null; then
	SCREENS_INNER=1 exec unshare -u sh -c 'hostname node1; exec scripts/screens.sh'
fi
bin=$PWD/build/boost-tui
work=$(mktemp -d)
sock=boost-tui-screens-$$
on() { tmux -L "$sock" -f /dev/null "$@"; }
trap 'on kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
export BOOST_RUNS=$work/runs HOME=$work XDG_STATE_HOME=$work/state TERM=xterm-256color LC_ALL=C.UTF-8 SCRATCH= XDG_DATA_HOME=
mkdir -p "$work/state/boost-tui"

# shot SCREEN WAIT KEY...: opens the UI on a screen of a user who looked at it before, and draws it.
shot() {
	local screen=$1 wait=$2
	shift 2
	printf '{"schema":1,"screen":"%s","screens":{"launch":{"toml":"[parallel]\\ntp = 2\\n[train]\\nsteps = 200\\n","focus":"scheme"}}}' \
		"$screen" >"$work/state/boost-tui/session.json"
	on new-session -d -x 120 -y 36 "$bin"
	sleep 1
	for k in "$@"; do on send-keys "$k"; sleep 0.5; done
	sleep "$wait"
	on capture-pane -p | sed 's/ *$//'
	on send-keys q
	sleep 0.5
	on kill-server 2>/dev/null || true
}

"$bin" demo --steps "${STEPS:-400}" >/dev/null
id=$("$bin" run --tp 2 --steps 1000 --name live --detach)
{
	printf '**Live.** Ranks with busy and work share, the breakdown of the step, step time, loss, log.\n\n```text\n'
	shot live 12 2
	"$bin" cancel "$id" >/dev/null 2>&1
	"$bin" rm --yes "$id" >/dev/null 2>&1
	printf '```\n\n**Compare.** Schemes side by side, where a step goes, and why one is faster.\n\n```text\n'
	shot compare 2 3
	printf '```\n\n**Launch.** Every key, what the experiment needs, and every rule that it breaks.\n\n```text\n'
	shot launch 1 1
	printf '```\n\n**Runs.** The store.\n\n```text\n'
	shot runs 1 5
	"$bin" sweep --axis scheme=vanilla,btp --axis tp=1,2 --axis rank=16,32,64 --twins --size tiny --steps "${STEPS:-400}" --name schemes --detach >/dev/null 2>&1
	until "$bin" sweep status | grep -qE '^points +(9|1[0-4])/'; do sleep 1; done
	printf '```\n\n**Sweep.** Axes, the queue, every point against its own twins, a heat map; it goes on with the screen closed.\n\n```text\n'
	shot sweep 3 s Down Enter
	"$bin" sweep pause --now >/dev/null 2>&1
	while "$bin" sweep status --json | grep -q '"held": true'; do sleep 0.2; done
	printf '```\n'
} >"$work/screens.md"

awk -v new="$work/screens.md" '
	/^<!-- screens -->$/ { print; print ""; while ((getline line < new) > 0) print line; print ""; skip = 1 }
	/^<!-- end of screens -->$/ { skip = 0 }
	!skip { if ($0 != "<!-- screens -->") print }
' README.md >"$work/README.md"
cp "$work/README.md" README.md
echo "README.md has new screens"
