#!/bin/sh
# After installation and upgrade, deb and rpm alike. The exporter needs no configuration, but whether it runs on this
# node is the operator's choice.
set -e
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers collwatch-exporter.conf
elif ! getent passwd collwatch-exporter >/dev/null; then
  useradd --system --home-dir / --shell /usr/sbin/nologin collwatch-exporter
fi
if command -v systemd-tmpfiles >/dev/null; then
  systemd-tmpfiles --create collwatch-exporter.conf || true
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart collwatch-exporter.service || true
fi
