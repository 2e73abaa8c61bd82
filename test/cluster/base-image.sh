#!/usr/bin/env bash
# base-image.sh STORAGE NAME [PROGRAM…]: a base for the Dockerfile without a registry, made of this machine's own programs.
# Writes the image NAME into the buildah storage STORAGE: Node 24 from node_modules, npm, a shell, the named programs, and
# the shared libraries they need. Certificates and settings of npm come along, so that `npm ci` works in it as it does here.
set -euo pipefail

storage=$1 name=$2
shift 2
repository=$(cd "$(dirname "$0")/../.." && pwd)
programs=(sh env cat chmod cp find ln ls mkdir rm "$@")

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{etc/ssl/certs,usr/bin,usr/lib,usr/lib64,usr/local/bin,usr/local/lib/node_modules,root}
# As Debian has it, so that libraries keep the paths that ldd tells.
ln -s usr/bin "$root/bin"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
mkdir -m 1777 "$root/tmp"

add_program() { # FILE INTO: the program and its libraries
  local library
  cp -L "$1" "$2"
  for library in $(ldd "$1" 2> /dev/null | grep -o '/[^ )]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp -Ln "$library" "$root$library"
  done
}

add_program "$repository/node_modules/node/bin/node" "$root/usr/local/bin/node"
for program in "${programs[@]}"; do
  file=$(type -P "$program") || { echo "base-image.sh: $program is missing. Install it with your package manager." >&2; exit 1; }
  add_program "$file" "$root/usr/bin/$program"
done
npm=$(readlink -f "$(type -P npm)")
cp -RL "${npm%/bin/npm-cli.js}" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
mkdir -p "$root/usr/local/etc"
echo 'prefer-offline=true' > "$root/usr/local/etc/npmrc"
certificates=/etc/ssl/certs/ca-certificates.crt
if [ -e "$certificates" ]; then
  cp -L "$certificates" "$root$certificates"
  echo "cafile=$certificates" >> "$root/usr/local/etc/npmrc"
fi
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' > "$root/etc/group"

in_storage() { buildah --root "$storage/root" --runroot "$storage/run" --storage-driver vfs "$@"; }
container=$(in_storage from scratch)
in_storage copy --quiet "$container" "$root" / > /dev/null
in_storage config --env PATH=/usr/local/bin:/usr/bin "$container"
in_storage commit --quiet --rm "$container" "$name" > /dev/null
