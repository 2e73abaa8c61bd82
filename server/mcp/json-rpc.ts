// JSON-RPC errors that the server answers itself, before a message reaches the protocol.

export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  internalError: -32603,
  /** For what HTTP refuses: JSON-RPC leaves this code to implementations. */
  refused: -32000,
} as const;

/** @param id of the request that is refused, where it is known and one that JSON-RPC allows */
export const jsonRpcErrorBody = (code: number, message: string, id?: unknown) => ({
  jsonrpc: '2.0' as const,
  error: { code, message },
  id: typeof id === 'string' || typeof id === 'number' ? id : null,
});

export const jsonRpcError = (status: number, code: number, message: string, id?: unknown): Response =>
  Response.json(jsonRpcErrorBody(code, message, id), { status });
