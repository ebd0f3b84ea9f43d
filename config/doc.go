// Package config reads the configuration: TOML in, checked and complete structs
// out.
//
// It exists because an operator who makes five mistakes wants to hear of five
// mistakes, with lines, and not of the first one; because a duration without a
// unit or a key with a typing error must never pass silently; and because what
// is secret has to stay so on every way out. Foreign config structs are mapped
// to and never decoded into or printed.
//
// [Load] reads a file, [Parse] bytes, [Default] is what an empty file means.
// All other packages have option structs of their own: only the commands, the
// engine and the rule generator see this package.
package config
