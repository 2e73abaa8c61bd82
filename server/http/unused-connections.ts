// Connections on which nothing was ever asked: clients keep some ready. Node does not count them as idle, so a server that
// stops would wait for them.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** @returns what closes those that are there */
export function unusedConnections(server: Server): () => void {
  const fresh = new Set<Socket>();
  server.on('connection', (socket) => {
    fresh.add(socket);
    socket.once('close', () => fresh.delete(socket));
  });
  server.on('request', ({ socket }) => fresh.delete(socket));
  return () => {
    for (const socket of fresh) if (socket.bytesRead === 0) socket.destroy();
  };
}
