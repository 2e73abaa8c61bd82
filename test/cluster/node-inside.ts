// The node itself, started by node.ts in namespaces of its own: the control plane, containerd, kubelet, kube-proxy, CoreDNS.
import { execFile, execFileSync } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import type { NodeCoordinates, NodePrograms } from './coordinates.ts';
import { writeImage } from './image-from-folder.ts';
import { startKubernetes } from './kubernetes.ts';
import { endWithStandardInput, Programs } from './programs.ts';

const run = promisify(execFile);

export interface InsideOptions {
  folder: string;
  /** The name of its folder in each hierarchy of cgroups. */
  cgroup: string;
  programs: NodePrograms;
}

const nodeName = 'node0';
const address = '10.80.0.1';
const podSubnet = '10.81.0.0/24';
const pauseImage = 'localhost/pause:1';

/** Where the programs write whatever they are told; the node has folders of its own there. */
const ownFolders = ['/var/log', '/var/lib'];
/** The kubelet sets these for the whole machine; it is given files to set instead. */
const ownSettings = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'];

const options = JSON.parse(process.argv[2]!) as InsideOptions;
const { folder, programs: places } = options;
const programs = new Programs(folder);
const socket = join(folder, 'containerd.sock');

/** The machine's own /run and the like stay as they are. */
async function mountOwnFolders(): Promise<void> {
  await run('mount', ['--make-rshared', '/']);
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', '/run']);
  const own = join(folder, 'own');
  for (const path of ownFolders) {
    await mkdir(join(own, path), { recursive: true });
    await run('mount', ['--bind', join(own, path), path]);
  }
  for (const setting of ownSettings) {
    const path = `/proc/sys/${setting}`;
    const copy = join(own, path);
    await mkdir(dirname(copy), { recursive: true });
    await writeFile(copy, await readFile(path));
    await run('mount', ['--bind', copy, path]);
  }
}

/** The node's address stands on a bridge, since some kernels have no dummy device. */
async function makeNetwork(): Promise<void> {
  const ip = (...args: string[]) => run('ip', args);
  await ip('link', 'set', 'lo', 'up');
  await ip('link', 'add', nodeName, 'type', 'bridge');
  await ip('addr', 'add', `${address}/24`, 'dev', nodeName);
  await ip('link', 'set', nodeName, 'up');
  await ip('route', 'add', 'default', 'via', address, 'dev', nodeName);
  await writeFile('/proc/sys/net/ipv4/ip_forward', '1');
}

async function startContainerd(): Promise<void> {
  const plugins = [
    {
      type: 'ptp',
      ipam: {
        type: 'host-local',
        dataDir: join(folder, 'cni/data'),
        ranges: [[{ subnet: podSubnet }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ];
  await mkdir(join(folder, 'cni'));
  const network = { cniVersion: '1.0.0', name: 'pods', plugins };
  await writeFile(join(folder, 'cni/10-pods.conflist'), JSON.stringify(network));
  await writeFile(
    join(folder, 'containerd.toml'),
    `version = 3
root = "${folder}/containerd/root"
state = "/run/containerd-state"
[grpc]
  address = "${socket}"
[plugins.'io.containerd.internal.v1.opt']
  path = "${folder}/containerd/opt"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${pauseImage}"
[plugins.'io.containerd.cri.v1.runtime']
  # Where root lacks CAP_SYS_RESOURCE, runc may not lower the score of its children.
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["${places.cni}"]
  conf_dir = "${folder}/cni"
`,
  );
  const ctr = (...args: string[]) => run(join(places.containerd, 'ctr'), ['-a', socket, '-n', 'k8s.io', ...args]);
  await programs.start('containerd', join(places.containerd, 'containerd'), ['--config', 'containerd.toml']);
  await programs.ready('containerd', () => ctr('version'));
  const pause = join(folder, 'pause');
  await mkdir(pause);
  await copyFile(execFileSync('which', ['catatonit'], { encoding: 'utf8' }).trim(), join(pause, 'pause'));
  const archive = join(folder, 'pause.tar');
  await writeImage(pauseImage, pause, { Entrypoint: ['/pause', '-P'], User: '65535:65535' }, archive);
  await ctr('images', 'import', archive);
}

async function startKubelet(kubeconfig: string): Promise<void> {
  const configuration = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { x509: { clientCAFile: join(folder, 'ca.crt') }, anonymous: { enabled: false } },
    tlsCertFile: join(folder, 'kubelet.crt'),
    tlsPrivateKeyFile: join(folder, 'kubelet.key'),
    containerRuntimeEndpoint: `unix://${socket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${options.cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    resolvConf: '',
    volumePluginDir: join(folder, 'volume-plugins'),
    clusterDNS: [address],
    clusterDomain: 'cluster.local',
    evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
  };
  await writeFile(join(folder, 'kubelet.yaml'), stringify(configuration));
  await programs.start('kubelet', join(places.bin, 'kubelet'), [
    ...['--config=kubelet.yaml', `--kubeconfig=${kubeconfig}`, `--hostname-override=${nodeName}`],
    ...[`--node-ip=${address}`, `--root-dir=${folder}/kubelet`],
  ]);
}

async function startProxy(kubeconfig: string): Promise<void> {
  const configuration = {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig },
    mode: 'iptables',
    clusterCIDR: podSubnet,
    hostnameOverride: nodeName,
    conntrack: { maxPerCore: 0 },
  };
  await writeFile(join(folder, 'proxy.yaml'), stringify(configuration));
  await programs.start('kube-proxy', join(places.bin, 'kube-proxy'), ['--config=proxy.yaml']);
}

async function startDns(kubeconfig: string): Promise<void> {
  const zone = `kubernetes cluster.local {\n    kubeconfig ${kubeconfig}\n  }`;
  await writeFile(join(folder, 'Corefile'), `.:53 {\n  bind ${address}\n  ${zone}\n}\n`);
  await programs.start('coredns', join(places.coredns, 'coredns'), ['-conf', 'Corefile']);
}

async function startAll(): Promise<Omit<NodeCoordinates, 'enter'>> {
  // The container runtime's shim and runc are looked up by name.
  process.env.PATH = `${places.containerd}:${places.runc}:${process.env.PATH}`;
  await mountOwnFolders();
  await makeNetwork();
  const { bin } = places;
  const kubernetes = await startKubernetes(programs, {
    bin,
    address,
    port: 6443,
    alternativeNames: ['IP:10.96.0.1'],
    certificates: [
      {
        name: 'kubelet',
        subject: `/CN=${nodeName}`,
        extensions: `subjectAltName=DNS:${nodeName},IP:${address}\nextendedKeyUsage=serverAuth`,
      },
      {
        name: 'kubelet-client',
        subject: '/O=system:masters/CN=kube-apiserver',
        extensions: 'extendedKeyUsage=clientAuth',
      },
    ],
    authorization: 'Node,RBAC',
    users: [
      { name: 'scheduler', user: 'system:kube-scheduler', group: '' },
      { name: 'proxy', user: 'system:kube-proxy', group: '' },
      { name: 'kubelet', user: `system:node:${nodeName}`, group: 'system:nodes' },
    ],
    // logs and exec go to the kubelet by its address, since no DNS knows its name.
    arguments: [
      ...['--allow-privileged=true', '--kubelet-preferred-address-types=InternalIP'],
      ...['--kubelet-client-certificate=kubelet-client.crt', '--kubelet-client-key=kubelet-client.key'],
    ],
  });
  const { url, folder: _, ca, kubeconfig, kubectl, kubeconfigOf } = kubernetes;
  const scheduler = kubeconfigOf('scheduler');
  await programs.start('kube-scheduler', join(bin, 'kube-scheduler'), [
    ...[`--kubeconfig=${scheduler}`, '--leader-elect=false', '--secure-port=0'],
    // Left alone, a pod that cannot be placed is looked at again after five minutes.
    '--pod-max-in-unschedulable-pods-duration=20s',
  ]);
  await startContainerd();
  await startDns(kubeconfigOf('admin'));
  await startKubelet(kubeconfigOf('kubelet'));
  await startProxy(kubeconfigOf('proxy'));
  await programs.ready('kubelet', () => kubectl('wait', `node/${nodeName}`, '--for=condition=Ready', '--timeout=1s'));
  return { url, bin, folder, ca, kubeconfig, programs: places, address, containerd: socket };
}

endWithStandardInput((code) => process.exit(code));
try {
  process.stdout.write(`${JSON.stringify(await startAll())}\n`);
} catch (fault) {
  process.stderr.write(`${(fault as Error).message}\n`);
  process.exit(1);
}
