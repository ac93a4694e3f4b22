# The server as one binary on a small Debian. Build: docker build --tag concord .
FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        libargon2-dev libcrypt-dev libcurl4-openssl-dev libicu-dev libidn2-dev libphonenumber-dev libpq-dev pkg-config zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Package.swift ./
# The manifest pins the direct dependencies. SwiftPM resolves the transitive ones here.
RUN swift package resolve
COPY Sources Sources
COPY migrations migrations
# SwiftPM needs these folders because the manifest names them.
COPY Benchmarks Benchmarks
COPY Tests Tests
RUN swift build --configuration release --static-swift-stdlib -Xlinker --rosegment --product concord \
    && install -D --strip "$(swift build --configuration release --show-bin-path)/concord" /out/bin/concord

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        ca-certificates libargon2-1 libcrypt1 libcurl4 libicu72 libidn2-0 libphonenumber8 libpq5 libprotobuf32 libstdc++6 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin concord
COPY --from=build /out/bin/concord /usr/local/bin/concord
COPY NOTICE /usr/local/share/concord/NOTICE
# By number: a check that forbids root cannot resolve a name.
USER 10001
EXPOSE 8080
ENTRYPOINT ["concord"]
CMD ["serve"]
