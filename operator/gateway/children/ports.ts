// The ports of a server's container, and the one of the operator that it calls.

export const mcpPort = 8000;
export const metricsPort = 9091;
/** Of the operator. */
export const callersPort = 9443;
/** Of the container that copies the catalogue. */
export const syncPort = 9092;
