// Package docs has no code. It exists so that the book is tested like the rest:
// links lead somewhere, the index has every page, and configurations in it load.
package docs
