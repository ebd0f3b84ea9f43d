#!/bin/sh
# After installation and upgrade, deb and rpm alike. Starting is left to the operator: the configuration has to name a
# server first.
set -e
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers collwatch.conf
elif ! getent passwd collwatch >/dev/null; then
  useradd --system --home-dir /var/lib/collwatch --shell /usr/sbin/nologin collwatch
fi
if command -v systemd-tmpfiles >/dev/null; then
  systemd-tmpfiles --create collwatch.conf || true
fi
chown root:collwatch /etc/collwatch /etc/collwatch/config.toml
chmod 0750 /etc/collwatch
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # On an upgrade the new binary takes over; the state is restored, so no alert is lost or doubled.
  systemctl try-restart collwatch.service || true
fi
