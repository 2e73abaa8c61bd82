#!/usr/bin/env bash
# Builds programs that tests need once from their Go modules, above all those of a real Kubernetes, and prints where they are.
#   build.sh         etcd, kube-apiserver, kube-controller-manager, kubectl: prints the folder they are in
#   build.sh helm    Helm 4 and Helm 3: prints {"helm4": PROGRAM, "helm3": PROGRAM}
#   build.sh versitygw   an S3 server: prints its program
#   build.sh definitions   other people's CustomResourceDefinitions, of the Prometheus operator and the Gateway API: prints their folder
#   build.sh node    all of that and what runs pods: prints {"bin", "containerd", "runc", "cni", "coredns": FOLDER, "helm4", "helm3": PROGRAM}
# The folders stand outside the checkout, one for each version. With KUBEBUILDER_ASSETS set, the first form takes that folder
# instead; it must hold etcd, kube-apiserver and kubectl (kube-controller-manager is started where it is there).
# The first build takes several minutes and about 3 GB of Go caches; later ones are done at once.
set -euo pipefail

part=${1:-control-plane}
kubernetes=1.37.2
etcd=3.7.3
containerd=2.4.2
runc=1.5.3
cni=1.10.0
coredns=1.15.0
helm4=4.3.1
helm3=3.22.0
versitygw=1.8.0
prometheus_operator=0.85.0
gateway_api=1.4.0

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

if [ "$part" = control-plane ] && [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  for program in etcd kube-apiserver kubectl; do
    [ -x "$KUBEBUILDER_ASSETS/$program" ] || fail "KUBEBUILDER_ASSETS is $KUBEBUILDER_ASSETS, but there is no program $program in it." \
      "Unset it to build the programs with Go, or fill it with: setup-envtest use"
  done
  echo "$KUBEBUILDER_ASSETS"
  exit 0
fi

cache=${XDG_CACHE_HOME:-$HOME/.cache}/lyceum/cluster
folder=$cache/kubernetes-$kubernetes-etcd-$etcd
bin=$folder/bin

definitions=$cache/definitions-$prometheus_operator-$gateway_api

in_bin=(etcd kube-apiserver kube-controller-manager kubectl)
wanted=()
case $part in
  control-plane) wanted=("${in_bin[@]/#/$bin/}") ;;
  helm) wanted=("$cache/helm-$helm4/helm" "$cache/helm-$helm3/helm") ;;
  definitions) wanted=("$definitions") ;;
  versitygw) wanted=("$cache/versitygw-$versitygw/versitygw") ;;
  node)
    in_bin+=(kube-scheduler kubelet kube-proxy)
    wanted=("${in_bin[@]/#/$bin/}")
    wanted+=("$cache/containerd-$containerd/"{containerd,containerd-shim-runc-v2,ctr} "$cache/runc-$runc/runc")
    wanted+=("$cache/cni-$cni/"{ptp,loopback,host-local,portmap} "$cache/coredns-$coredns/coredns")
    wanted+=("$cache/helm-$helm4/helm" "$cache/helm-$helm3/helm")
    ;;
  *) fail "build.sh $part: there is no such part. Name helm, versitygw, definitions or node, or nothing for the control plane." ;;
esac

missing=()
for program in "${wanted[@]}"; do
  [ -x "$program" ] || missing+=("$program")
done

print_places() {
  case $part in
    control-plane) echo "$bin" ;;
    helm) printf '{"helm4": "%s", "helm3": "%s"}\n' "$cache/helm-$helm4/helm" "$cache/helm-$helm3/helm" ;;
    versitygw) echo "$cache/versitygw-$versitygw/versitygw" ;;
    definitions) echo "$definitions" ;;
    node)
      printf '{"bin": "%s", "containerd": "%s", "runc": "%s", "cni": "%s", "coredns": "%s", "helm4": "%s", "helm3": "%s"}\n' \
        "$bin" "$cache/"{"containerd-$containerd","runc-$runc","cni-$cni","coredns-$coredns","helm-$helm4/helm","helm-$helm3/helm"}
      ;;
  esac
}

if [ ${#missing[@]} -eq 0 ]; then
  print_places
  exit 0
fi

remedy="Install Go 1.26 or newer (https://go.dev/dl/) to build them"
need="The tests need a real Kubernetes"
case $part in
  control-plane) remedy+=", or name a folder of envtest programs in KUBEBUILDER_ASSETS (Helm, for the chart's tests, is built all the same)" ;;
  versitygw) need="The tests of buckets need an S3 server" ;;
  definitions) need="Tests of what others define need their definitions" ;;
  helm) need="The tests of the chart need Helm 4 and Helm 3, which no folder in KUBEBUILDER_ASSETS has" ;;
esac
names=${missing[*]#"$cache/"}
command -v go > /dev/null || fail "$need; these programs are missing: $names." "$remedy."
version=$(cd / && go env GOVERSION)
case $version in
  go1.[0-9] | go1.[0-9].* | go1.1[0-9]* | go1.2[0-5]*) fail "$need; with $version these programs cannot be built: $names." "$remedy." ;;
esac

echo "Building $names into $cache: several minutes, only this once." >&2
mkdir -p "$cache"
work=$(mktemp -d "$cache/building.XXXXXX")
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 GOFLAGS="-mod=mod -trimpath -buildvcs=false" GOWORK=off

# A module of its own for each project, so that their versions never mix.
enter_module() {
  mkdir -p "$work/$1" && cd "$work/$1"
  go mod init "lyceum.test/$1" 2> /dev/null
}

# build PROGRAM ARGUMENTS-OF-GO-BUILD…: programs move into place whole, so that a build that was interrupted, or a second one
# at the same time, leaves none half written.
build() {
  local program=$1 built
  shift
  [ -x "$program" ] && return
  echo "  ${program##*/}" >&2
  built=$work/${program##*/}.built
  go build -o "$built" "$@" >&2
  mkdir -p "${program%/*}"
  mv "$built" "$program"
}

is_missing() {
  [[ " ${missing[*]} " == *" $1 "* ]]
}

# project MODULE VERSION FOLDER PROGRAM=PACKAGE…: the programs of one Go module, packages relative to it.
project() {
  local module=$1 version=$2 into=$3 pair
  shift 3
  local needed=()
  for pair in "$@"; do
    if is_missing "$into/${pair%%=*}"; then needed+=("$pair"); fi
  done
  [ ${#needed[@]} -eq 0 ] && return
  enter_module "$(basename "$into")"
  go get "$module@v$version" 2> "$work/log" || { cat "$work/log" >&2; return 1; }
  for pair in "${needed[@]}"; do build "$into/${pair%%=*}" -ldflags "-s -w" "$module${pair#*=}"; done
}

build_kubernetes() {
  local program needed=()
  for program in "${in_bin[@]}"; do
    if [ "$program" != etcd ] && is_missing "$bin/$program"; then needed+=("$program"); fi
  done
  [ ${#needed[@]} -eq 0 ] && return
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
  for program in "${needed[@]}"; do build "$bin/$program" -ldflags "$flags" "k8s.io/kubernetes/cmd/$program"; done
}

# runc is the one that needs C, since it links libseccomp.
build_runc() {
  is_missing "$cache/runc-$runc/runc" || return 0
  pkg-config --exists libseccomp 2> /dev/null ||
    fail "runc is built with libseccomp, which is not here. On Debian: apt-get install -y gcc pkg-config libseccomp-dev"
  export CGO_ENABLED=1 GOFLAGS="$GOFLAGS -tags=seccomp"
  project github.com/opencontainers/runc "$runc" "$cache/runc-$runc" runc=
}

build_containerd() {
  export GOFLAGS="$GOFLAGS -tags=no_btrfs,no_zfs,no_devmapper"
  project github.com/containerd/containerd/v2 "$containerd" "$cache/containerd-$containerd" \
    containerd=/cmd/containerd containerd-shim-runc-v2=/cmd/containerd-shim-runc-v2 ctr=/cmd/ctr
}

# Of the modules nothing is built: the files stand in them.
fetch_definitions() {
  is_missing "$definitions" || return 0
  local module folder
  mkdir "$work/definitions"
  cd /
  while read -r module folder; do
    module=$(go mod download -json "$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    cp "$module/$folder"/*_{servicemonitors,podmonitors,prometheusrules,httproutes,gateways}.yaml "$work/definitions" 2> /dev/null || true
  done << END
github.com/prometheus-operator/prometheus-operator@v$prometheus_operator example/prometheus-operator-crd
sigs.k8s.io/gateway-api@v$gateway_api config/crd/standard
END
  [ "$(ls "$work/definitions" | wc -l)" = 5 ] || fail "The definitions of the Prometheus operator and the Gateway API cannot be fetched: see whether Go reaches its proxy."
  chmod -R u+w "$work/definitions"
  mv "$work/definitions" "$definitions"
}

(build_runc)
(fetch_definitions)
(project go.etcd.io/etcd/server/v3 "$etcd" "$bin" etcd=)
(build_kubernetes)
(build_containerd)
(project github.com/containernetworking/plugins "$cni" "$cache/cni-$cni" \
  ptp=/plugins/main/ptp loopback=/plugins/main/loopback host-local=/plugins/ipam/host-local portmap=/plugins/meta/portmap)
(project github.com/coredns/coredns "$coredns" "$cache/coredns-$coredns" coredns=)
(project helm.sh/helm/v4 "$helm4" "$cache/helm-$helm4" helm=/cmd/helm)
(project helm.sh/helm/v3 "$helm3" "$cache/helm-$helm3" helm=/cmd/helm)
(project github.com/versity/versitygw "$versitygw" "$cache/versitygw-$versitygw" versitygw=/cmd/versitygw)
print_places
