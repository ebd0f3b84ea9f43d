// Package parse reads the texts that say how a cluster is wired: files of
// schedulers, output of fabric tools, dumps of libraries and drivers.
//
// It exists because no site has the same source, and every source is written by
// somebody else: a text may be cut short, contradict itself or be made to fill
// the memory. Each parser therefore returns [Facts] in common words, bounded in
// size, with a [Problem] (file and line) for what it could not use; it is an
// error only if nothing could be used. What the facts mean together is decided
// in package topology.
package parse
