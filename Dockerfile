# The image of Lyceum: one program, `lyceum operator|server|sync|run|check`, as a user without rights, on a read-only root.
#
#   docker build --tag lyceum:0.2.0 .
#   docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/lyceum:0.2.0 --push .
#
# BASE is any image with Node 24 and npm in its PATH.
ARG BASE=docker.io/library/node:24.21.0-bookworm-slim

FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
# Maps and type declarations are half of the packages, and nothing that runs reads one.
RUN find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' \) -delete
COPY LICENSE ./
COPY catalogue catalogue
COPY upstream upstream
COPY operator operator
COPY server server
COPY sync sync
COPY cli cli
# Whatever the modes in the checkout were: everybody reads, nobody writes.
RUN rm package-lock.json .npmrc && chmod -R a=rX . && chmod a+x cli/main.ts

FROM ${BASE}
LABEL org.opencontainers.image.title="Lyceum" \
  org.opencontainers.image.description="Kubernetes operator and MCP server for the material that AI agents read" \
  org.opencontainers.image.licenses="MIT"
COPY --from=build /app /app
RUN ln -s /app/cli/main.ts /usr/local/bin/lyceum
WORKDIR /app
USER 65534:65534
# A container has a network of its own: `lyceum run` must listen on more than its loopback there.
ENV LYCEUM_HOST=any XDG_CACHE_HOME=/tmp
# Node is PID 1: it ends in order at SIGTERM and starts no other process.
ENTRYPOINT ["lyceum"]
