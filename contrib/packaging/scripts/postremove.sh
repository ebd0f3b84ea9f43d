#!/bin/sh
# After removal. State and configuration stay unless a deb is purged.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
  rm -rf /var/lib/collwatch /etc/collwatch
fi
