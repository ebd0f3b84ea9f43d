// Package draw shows a fabric to people: as text, JSON, Graphviz' DOT and SVG.
//
// It exists because a wrong topology makes wrong blame, and a person sees in a
// picture what is wrong with it. Pictures need nothing from outside: no script,
// no font, no stylesheet.
package draw
