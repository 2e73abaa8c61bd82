// What the containers of a gateway have in common: where the catalogue is, and what they may not do.

/** Where the catalogue is in a container. */
export const volumePath = '/volume';

export const restricted = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};
