#!/usr/bin/env bash
# Builds etcd, kube-apiserver, kube-controller-manager and kubectl once from their Go modules; prints the folder they are in.
# The folder stands outside the checkout, one for each set of versions. With KUBEBUILDER_ASSETS set, that folder is taken
# instead; it must hold etcd, kube-apiserver and kubectl (kube-controller-manager is started where it is there).
# The first build takes several minutes and about 3 GB of Go caches; later ones are done at once.
set -euo pipefail

kubernetes=1.37.2
etcd=3.7.3
programs=(etcd kube-apiserver kube-controller-manager kubectl)

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  for program in etcd kube-apiserver kubectl; do
    [ -x "$KUBEBUILDER_ASSETS/$program" ] || fail "KUBEBUILDER_ASSETS is $KUBEBUILDER_ASSETS, but there is no program $program in it." \
      "Unset it to build the programs with Go, or fill it with: setup-envtest use"
  done
  echo "$KUBEBUILDER_ASSETS"
  exit 0
fi

folder=${XDG_CACHE_HOME:-$HOME/.cache}/lyceum/cluster/kubernetes-$kubernetes-etcd-$etcd
bin=$folder/bin
missing=()
for program in "${programs[@]}"; do
  [ -x "$bin/$program" ] || missing+=("$program")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "$bin"
  exit 0
fi

remedy="Install Go 1.26 or newer (https://go.dev/dl/) to build them, or name a folder of envtest programs in KUBEBUILDER_ASSETS."
command -v go > /dev/null || fail "The tests need a real Kubernetes API server; these programs are missing: ${missing[*]}." "$remedy"
version=$(cd / && go env GOVERSION)
case $version in
  go1.[0-9] | go1.[0-9].* | go1.1[0-9]* | go1.2[0-5]*) fail "Kubernetes $kubernetes does not build with $version." "$remedy" ;;
esac

echo "Building ${missing[*]} (Kubernetes $kubernetes, etcd $etcd) into $bin: several minutes, only this once." >&2
mkdir -p "$bin"
work=$(mktemp -d "$folder/building.XXXXXX")
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 GOFLAGS="-mod=mod -trimpath" GOWORK=off

# A module of its own for each project, so that their versions never mix.
enter_module() {
  mkdir -p "$work/$1" && cd "$work/$1"
  go mod init "lyceum.test/$1" 2> /dev/null
}

# Programs move into place whole, so that a build that was interrupted, or a second one at the same time, leaves none half written.
build() {
  local program=$1
  shift
  echo "  $program" >&2
  go build -o "$work/$program.built" "$@" >&2
  mv "$work/$program.built" "$bin/$program"
}

build_etcd() {
  enter_module etcd
  go get "go.etcd.io/etcd/server/v3@v$etcd" 2> "$work/log" || { cat "$work/log" >&2; return 1; }
  build etcd -ldflags "-s -w" go.etcd.io/etcd/server/v3
}

build_kubernetes() {
  enter_module kubernetes
  # k8s.io/kubernetes requires its parts as v0.0.0 and replaces them by folders of its own; who depends on it names their versions.
  local requirements part
  requirements=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  for part in $(awk '$2 == "v0.0.0" {print $1}' "$requirements" | sort -u); do
    go mod edit -replace="$part=$part@v0.${kubernetes#1.}"
  done
  go mod edit -require="k8s.io/kubernetes@v$kubernetes"
  # Without its version in it the server calls itself v0.0.0 and clients refuse it.
  local package=k8s.io/component-base/version minor=${kubernetes#1.}
  local flags="-s -w -X $package.gitVersion=v$kubernetes -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}"
  local program
  for program in "$@"; do build "$program" -ldflags "$flags" "k8s.io/kubernetes/cmd/$program"; done
}

of_kubernetes=()
for program in "${missing[@]}"; do
  if [ "$program" = etcd ]; then (build_etcd); else of_kubernetes+=("$program"); fi
done
[ ${#of_kubernetes[@]} -eq 0 ] || (build_kubernetes "${of_kubernetes[@]}")
echo "$bin"
