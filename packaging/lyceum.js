#!/usr/bin/env node
// What `npx` starts: tells a Node that is too old what it lacks, in syntax that it knows, and else hands over to the command.
const least = [24, 12];
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < least[0] || (major === least[0] && minor < least[1])) {
  console.error(
    `lyceum needs Node ${least.join('.')} or newer, and this is ${process.versions.node}: https://nodejs.org/en/download`,
  );
  process.exit(1);
}
import('./cli/main.js');
