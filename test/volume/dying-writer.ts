// A writer that publishes one version and dies by SIGKILL before step N of it: `dying-writer.ts ROOT VERSION N`.
import { Volume } from '../../operator/publish/volume.ts';
import { filesWithSteps } from './steps.ts';
import { publish } from './support.ts';
import { versionOf } from './versions.ts';

const [, , root = '', version = '', dieAt = ''] = process.argv;
let step = 0;
const files = filesWithSteps(() => {
  step += 1;
  if (step === Number(dieAt)) process.kill(process.pid, 'SIGKILL');
});
const volume = Volume.at(root, files);
step = 0;
await publish(volume, versionOf(Number(version)), `v${version}`);
