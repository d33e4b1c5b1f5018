package ssh

// Words of ours on a session's stdout.
const (
	// here is the line behind which a script's own output begins: what a login shell prints comes before it.
	here = "boost-tui-ssh 1 here"
	// done begins the last line of a script that ended; the exit code follows. Without it the connection was lost.
	done = "boost-tui-ssh 1 done "
)

// Script is what a host is told to run. It is fixed text, one line without single quotes, so that every login shell hands it
// on to sh as it is. It reads its parameters with read, which takes no byte too many from a pipe.
type Script struct {
	text string
	ends bool // it says itself how it ended
}

// command is the argument of ssh.
func (s Script) command() string {
	text := s.text
	if s.ends {
		text = `(` + text + `); printf "` + done + `%s\n" "$?"`
	}
	return `exec /bin/sh -c 'printf "\n` + here + `\n"; ` + text + `'`
}

// keep holds a connection open until its stdin ends.
var keep = Script{text: `exec cat >/dev/null`}

// cache sets $cache to this program's folder of the host's own user, or says that there is no home.
const cache = `cache="${XDG_CACHE_HOME:-}"; case "$cache" in /*) ;; *) case "${HOME:-}" in /*) cache="$HOME/.cache";; *) exit 10;; esac;; esac; cache="$cache/boost-tui"; `

// Exit codes of our scripts.
const (
	codeSetup   = 9 // of the user's configuration
	codeNoHome  = 10
	codeFolder  = 11 // cannot be made
	codeWrite   = 12
	codeDamaged = 13 // on the way
	codePlace   = 14
	codeNoTool  = 15 // sha256sum
)

// probe looks at a host: whether it sees a file of the run's folder, and whether this very program is there. Parameters: the
// program's sha256, its path here, the run's folder here, the name of the file.
var probe = Script{ends: true, text: `IFS= read -r sum; IFS= read -r bin; IFS= read -r dir; IFS= read -r nonce; ` +
	`printf "system %s\n" "$(uname -sm)"; printf "name %s\n" "$(uname -n)"; ` +
	`command -v sha256sum >/dev/null || exit 15; ` +
	`if [ -f "$dir/$nonce" ]; then printf "nonce %s\n" "$(head -c 200 "$dir/$nonce")"; fi; ` +
	`same() { [ -f "$1" ] && [ -r "$1" ] && got=$(sha256sum <"$1") && [ "${got%% *}" = "$sum" ]; }; ` +
	`if same "$bin"; then if [ -x "$bin" ]; then printf "program %s\n" "$bin"; exit 0; fi; printf "locked %s\n" "$bin"; fi; ` +
	cache + `if same "$cache/bin/$sum/boost-tui" && [ -x "$cache/bin/$sum/boost-tui" ]; then printf "program %s\n" "$cache/bin/$sum/boost-tui"; fi`}

// put copies this program to a host, under its content's hash. Parameters: the hash; the program follows. Copies that were
// not used for a month go.
var put = Script{ends: true, text: `IFS= read -r sum; umask 077; ` + cache +
	`mkdir -p "$cache/bin/$sum" || exit 11; ` +
	`new="$cache/bin/$sum/.new-$$"; trap "rm -f \"\$new\"" EXIT; trap "exit 1" HUP INT TERM PIPE; ` +
	`cat >"$new" || exit 12; got=$(sha256sum <"$new") || exit 12; [ "${got%% *}" = "$sum" ] || exit 13; ` +
	`chmod 700 "$new" && mv -f "$new" "$cache/bin/$sum/boost-tui" || exit 14; ` +
	`find "$cache/bin" -mindepth 2 -maxdepth 2 -name boost-tui -atime +30 -mtime +30 -exec rm -f {} + 2>/dev/null; ` +
	`printf "program %s\n" "$cache/bin/$sum/boost-tui"`}

// setupFailed begins what a host says whose setup failed.
const setupFailed = "the setup of the configuration failed at: "

// start becomes a role of this program. Parameters: the program's path, the role, and how many lines of the user's own
// configuration prepare the shell; those lines come next. What follows is the role's own.
var start = Script{text: `IFS= read -r bin; IFS= read -r role; IFS= read -r n; ` +
	`while [ "$n" -gt 0 ]; do IFS= read -r line; n=$((n-1)); eval "$line" </dev/null >&2 || { printf "` + setupFailed + `%s\n" "$line" >&2; exit 9; }; done; ` +
	`exec "$bin" "$role"`}
