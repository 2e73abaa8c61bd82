// The version that every command, log line and MCP answer tells.
import packageJson from '../package.json' with { type: 'json' };

export const version: string = packageJson.version;
