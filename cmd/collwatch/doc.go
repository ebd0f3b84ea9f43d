// Command collwatch finds what slows down or stops the communication of
// distributed GPU training, and says who is to blame, or that nobody can be
// named.
package main
