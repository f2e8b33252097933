# Drover in one image: the service, the console and the command line, run as they are by Node, as an unprivileged user.
#
#   docker build -t drover .
#   docker run --init -p 8080:8080 -p 1883:1883 -v drover:/data drover
#
# With DATABASE_URL it uses that PostgreSQL; without, the embedded one keeps its data in /data.

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No script of a package runs: none is needed to build, and what the embedded database lacks is made up for at its first start.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build:console
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    DROVER_HOST=0.0.0.0 \
    DROVER_DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE /app/CHANGELOG.md ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/migrations ./migrations
COPY --from=build /app/src ./src
RUN mkdir /data && chown node:node /data && chmod +x src/cli/drover.ts && ln -s /app/src/cli/drover.ts /usr/local/bin/drover
USER node
VOLUME /data
EXPOSE 8080 1883
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.DROVER_PORT || 8080}/health/ready`).then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/main.ts"]
