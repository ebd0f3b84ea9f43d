// Package packaging has no code. It exists for the tests of what is released:
// archives and packages are built and looked into, installed on a clean system,
// upgraded and removed, and started as an operator would.
package packaging
