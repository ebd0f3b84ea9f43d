// Package flightrec reads the dumps of PyTorch's NCCL flight recorder and says
// for whom a hung job waits.
//
// It exists because the dumps are pickles, and a pickle is a program: whoever
// can write one could run anything in a reader that is not careful. The reader
// here knows only the opcodes that build dicts, lists, tuples, strings, numbers,
// booleans and None, has a bound on everything, and calls nothing.
package flightrec
