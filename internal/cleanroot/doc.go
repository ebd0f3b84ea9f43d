// Package cleanroot gives tests a Debian system that nobody has touched, and
// boots it under a real systemd.
//
// It exists since a package is right only where it is installed: maintainer
// scripts, users, sandboxing and the service manager's protocol cannot be had
// from a folder. The system is made once by debootstrap, kept in the cache of
// the user, and copied for each test.
package cleanroot
