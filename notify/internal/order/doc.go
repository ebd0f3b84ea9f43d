// Package order compares truth values, which the standard library does not: what
// is told first depends on several of them, and all receivers have to agree.
package order
