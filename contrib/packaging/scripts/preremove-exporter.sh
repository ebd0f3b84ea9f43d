#!/bin/sh
# Before removal. An upgrade calls this too (deb: "upgrade", rpm: 1) and must leave the service alone.
set -e
case "$1" in
upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now collwatch-exporter.service >/dev/null 2>&1 || true
fi
