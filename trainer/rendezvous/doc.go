// Package rendezvous is where the ranks of a job meet: a small key-value store on rank 0's node, on
// an ephemeral port, for what must be known before there is a communicator (its identity) and after
// one has failed (whose fault it was).
//
// Both ends of every connection prove that they know the run's secret (HMAC-SHA256 over a nonce of
// each side) before anything else is read from them, and every later frame carries a tag over its
// place in the stream. All sizes are bounded, everything that waits has a deadline, and an error of a
// wait names the ranks that were missing.
//
// Start reading at Server and Client; frame.go and handshake.go are the protocol, store.go what it serves.
package rendezvous
