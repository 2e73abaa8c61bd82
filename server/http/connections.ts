// The connections of a server that stops. Node closes those that it calls idle, and is wrong about two kinds: it waits for
// those on which nothing was ever asked, which clients keep ready, and cuts those whose last answer has not left yet.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export interface Connections {
  /** Resolves when what has been answered by now has left, or its connection is gone. */
  sent(): Promise<void>;
  /** Closes those on which nothing was ever asked. */
  closeUnused(): void;
}

/** A socket tells nobody that it is empty where it never was full. */
const lookEveryMs = 20;

export function connectionsOf(server: Server): Connections {
  const all = new Set<Socket>();
  server.on('connection', (socket) => {
    all.add(socket);
    socket.once('close', () => all.delete(socket));
  });
  return {
    async sent() {
      let behind = [...all];
      for (;;) {
        behind = behind.filter(({ destroyed, writableLength }) => !destroyed && writableLength > 0);
        if (behind.length === 0) return;
        await pause(lookEveryMs);
      }
    },
    closeUnused() {
      for (const socket of all) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}
