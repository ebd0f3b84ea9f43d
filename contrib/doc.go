// Package contrib has no code. It exists so that what is shipped beside the
// binaries (units, packages, examples) is tested like the rest: a unit file
// with a typing error is found here and not on a monitoring host at night.
package contrib
