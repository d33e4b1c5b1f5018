// Package mirror brings the files of a run from the host that writes them to the one that keeps them, where the two share
// no file system, over any pair of streams that may be cut at any byte.
//
// The keeper's own files say how far it is: after a cut both sides compare what is there and go on. A file that grows is
// appended to at its offset, one that is replaced as a whole appears whole, and what the source cut short or replaced begins
// anew. At the end both compare checksums, so that a file that was changed in place is the same on both sides too.
//
// Nothing that arrives is trusted: names are those that a run has (Names), inside the folder, through no link; sizes are bounded.
//
// Start reading at Message (message.go), what goes over the streams; Source (source.go) reads a folder, Sink (sink.go) keeps one.
package mirror
