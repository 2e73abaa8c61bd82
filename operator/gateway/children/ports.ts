// The ports of a server's container.

export const mcpPort = 8000;
export const metricsPort = 9091;

/** Of the container that copies the catalogue. */
export const syncPort = 9092;
