// Package custom judges the signals that only the configuration knows: each by
// its own past and by its peers, as detectors do with those of the catalogue.
//
// It stands apart from detectors and diagnosis because nobody here knows what
// such a signal means. It adds evidence to verdicts that stand without it. It
// names nobody, makes no verdict and raises none.
package custom
