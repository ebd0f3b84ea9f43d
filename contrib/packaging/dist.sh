#!/usr/bin/env bash
# Builds dist/: static binaries, reproducible archives, deb and rpm packages, a bill of materials, checksums.
# Called by make dist, which sets VERSION, EPOCH, STAMP, COMMANDS, ARCHES, GO, NFPM and SBOM. OUT is the folder written to.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${VERSION:?call me through make dist}" "${EPOCH:?}" "${STAMP:?}" "${COMMANDS?}" "${ARCHES:?}" "${GO:?}" "${NFPM:?}" "${SBOM:?}"
[ -n "$COMMANDS" ] || { echo "dist: there are no commands in cmd/"; exit 1; }

out=${OUT:-dist}
# Only what an earlier run left: the folder may be the user's own.
rm -rf "$out"/collwatch* "$out"/sha256sums.txt
mkdir -p "$out"
stage_root=$(mktemp -d)
trap 'rm -rf "$stage_root"' EXIT
export SOURCE_DATE_EPOCH=$EPOCH VERSION

# build ARCH FOLDER: all commands.
build() {
  local command
  mkdir -p "$2"
  for command in $COMMANDS; do
    [ ! -x "$2/$command" ] || continue
    echo "dist: $command for linux/$1"
    CGO_ENABLED=0 GOOS=linux GOARCH=$1 $GO build -trimpath -buildvcs=false \
      -ldflags "-s -w -buildid= $STAMP" -o "$2/$command" "./cmd/$command"
  done
}

# Man pages and completions come from the commands themselves, in the build for this machine.
docs_dir=$stage_root/doc
mkdir -p "$docs_dir"
here=$($GO env GOHOSTARCH)
native=$stage_root/collwatch-$VERSION.linux-$here
build "$here" "$native"
for command in $COMMANDS; do
  {
    printf '.TH %s 1 "%s" "collwatch %s"\n' "$command" "$(date -u -d "@$EPOCH" +%Y-%m-%d)" "$VERSION"
    page=$("$native/$command" --help-man 2>/dev/null | sed -n '/^\.SH "NAME"/,$p')
    # whatis and apropos know a page by "name \- what it is" there.
    about=$(sed -n '/^\.SH "DESCRIPTION"/{n;p;q}' <<<"$page")
    printf '%s\n' "${page/"$command"/"$command \\- ${about%.}"}"
    if [ "$command" = collwatch ]; then
      printf '.SH "EXIT STATUS"\n0 fine, 1 failure, 2 mistake in the call or in the configuration, 3 findings or differences of a command that judges.\n'
    fi
  } | gzip -9n >"$docs_dir/$command.1.gz"
  "$native/$command" --completion-script-bash >"$docs_dir/$command.bash" 2>/dev/null
  "$native/$command" --completion-script-zsh >"$docs_dir/_$command" 2>/dev/null
done

for arch in $ARCHES; do
  name=collwatch-$VERSION.linux-$arch
  stage=$stage_root/$name
  build "$arch" "$stage"
  cp LICENSE README.md CHANGELOG.md config.example.toml "$stage/"
  # The packages' configuration differs from the example in one line.
  sed 's|^#state_dir = .*|state_dir = "/var/lib/collwatch"|' config.example.toml >"$stage_root/config.toml"
  cp -r contrib "$stage/contrib"
  find "$stage/contrib" -name '*.go' -delete
  # The plugin is C: it is in the archive of an architecture for which a compiler is at hand.
  cc=$(case $arch in amd64) echo x86_64-linux-gnu-gcc ;; arm64) echo aarch64-linux-gnu-gcc ;; esac)
  plugin_dir=$stage_root/lib-$arch
  mkdir -p "$plugin_dir"
  if [ -f plugin/Makefile ] && command -v "$cc" >/dev/null; then
    # Paths of this machine stay out of it.
    make -C plugin CC="$cc" CFLAGS="-O2 -g0 -ffile-prefix-map=$PWD=." BUILD="$stage_root/plugin-$arch" >/dev/null
    cp "$stage_root/plugin-$arch/"libnccl-profiler-collwatch.so "$plugin_dir/"
    cp "$plugin_dir"/*.so "$stage/"
  elif [ -f plugin/Makefile ]; then
    echo "dist: no $cc, so no plugin for $arch"
  fi
  tar --sort=name --mtime="@$EPOCH" --owner=0 --group=0 --numeric-owner --mode='u+rwX,go+rX,go-w' \
    -C "$stage_root" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"

  for config in contrib/packaging/nfpm-*.yaml; do
    package=$(basename "$config" .yaml)
    case $package in
    nfpm-daemon) needed=collwatch ;;
    nfpm-exporter) needed=collwatch-exporter ;;
    esac
    if [ ! -x "$stage/$needed" ]; then
      echo "dist: no $needed, so no package of it"
      continue
    fi
    for format in deb rpm; do
      log=$(DOCS=$docs_dir CONFIG=$stage_root/config.toml STAGE=$stage PLUGIN_DIR=$plugin_dir ARCH=$arch \
        $NFPM package --config "$config" --packager $format --target "$out/" 2>&1) || { echo "$log"; exit 1; }
    done
  done
done

# The bill of materials: every module that is linked in, as the binary itself says, standard library included.
for command in $COMMANDS; do
  $SBOM bin -json -std -noserial -notimestamp -version "v$VERSION" \
    -output "$out/$command-$VERSION.cdx.json" "$stage_root/collwatch-$VERSION.linux-${ARCHES%% *}/$command" 2>/dev/null
done
(cd "$out" && sha256sum -- * >sha256sums.txt)
ls -l "$out"
