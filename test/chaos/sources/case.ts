// One hostile source: where it is, and what has to become of it.
import { createServer, type RequestListener, type Server } from 'node:http';

/** A reason by which it is refused; or what is served of it in spite of everything. */
export type Fate =
  | string
  | {
      skills: number;
      /** Reasons of problems that have to be told. */
      tells?: readonly string[];
      /** What skills are described by, by their address. */
      described?: Record<string, string>;
    };

export interface HostileSource {
  /** Of the SkillSource. */
  name: string;
  what: string;
  url: string;
  /** More of its spec. */
  spec?: object;
  secret?: Record<string, string>;
  fate: Fate;
}

/** Several of them, and what ends their servers. */
export interface HostileSources extends AsyncDisposable {
  sources: HostileSource[];
}

/** An HTTP server of the proof's own, for what no real one does on demand. */
export async function impostor(
  listener: RequestListener,
  host = '127.0.0.1',
): Promise<{ origin: string; server: Server }> {
  const server = createServer(listener);
  server.listen(0, host);
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  return { origin: `http://${host}:${port}`, server };
}
