package exporter

// Samples is what a Source adds to: the same metrics under the same limits as the plugin's. A source that knows less
// serves fewer metrics; it never serves a zero for what it cannot see.
type Samples struct{ b *builder }
