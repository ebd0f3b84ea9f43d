// Package dense finds the number of a value among values that were numbered in
// the order of their arrival.
//
// It exists because tables of label sets and entities are the largest things a
// daemon keeps: a Go map would hold each of these values a second time, as its
// key, and an index of four bytes a value does not.
package dense
