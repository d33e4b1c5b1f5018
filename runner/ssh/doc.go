// Package ssh runs programs on other hosts through the user's own ssh: its configuration, its agent, its known hosts.
//
// Nothing here ever asks for a password, a passphrase or a host's key (BatchMode): a host that would ask is an *Error which
// says what to do. One connection per host is shared by all that is done there, through a socket in a private folder, and
// it ends with the process that made it: its remote side reads a pipe whose end it notices.
//
// What a host runs is fixed text (script.go): parameters are lines on its stdin. ssh reports a lost connection by the same
// exit code that a program may have (255), so every script says a word of ours first, and those that end say how.
//
// Start reading at Hosts (hosts.go), which machines a user means, then Link (link.go), the connection to one.
package ssh
