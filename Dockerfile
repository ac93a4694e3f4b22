# The server as one binary on a small Debian. Build:
#   docker build --tag concord --build-arg CONCORD_COMMIT="$(git rev-parse HEAD)" .
FROM swift:6.3-bookworm AS build
WORKDIR /src
COPY scripts/prepare scripts/prepare
RUN scripts/prepare --dist && rm -rf /var/lib/apt/lists/*
COPY Package.swift ./
# The manifest pins the direct dependencies. SwiftPM resolves the transitive ones here.
RUN swift package resolve
COPY . .
ARG CONCORD_COMMIT=
ARG CONCORD_COMMIT_DATE=unknown
# The same package that a release publishes.
RUN scripts/dist && rm .build/dist/*.debug.gz .build/dist/*.tar.gz

FROM debian:bookworm-slim
RUN --mount=from=build,source=/src/.build/dist,target=/dist \
    apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates /dist/concord_*.deb \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin concord
# By number: a check that forbids root cannot resolve a name.
USER 10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["concord", "healthcheck"]
ENTRYPOINT ["concord"]
CMD ["serve"]
