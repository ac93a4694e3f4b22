.DEFAULT_GOAL := help
.PHONY: help build run test test-fast fuzz format lint golden demo bench drill migrate dist package-test clean

# Links the Swift libraries statically: the program starts and runs faster, and runs on machines without Swift.
# `--rosegment` separates code from constants, so that running code does not load constants. gold and lld support it.
RELEASE := --configuration release --static-swift-stdlib -Xlinker --rosegment

help: ## List these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{ printf "make %-10s %s\n", $$1, $$2 }'

build: ## Install what is missing and build the release binary, .build/release/concord
	@scripts/prepare
	@scripts/build-info
	@scripts/build $(RELEASE) --product concord

run: ## Run the development server with a private database (ARGS='--port 9100')
	@scripts/prepare
	@scripts/build-info
	@# Without optimization, which takes half the time, and as `make test` compiles.
	@scripts/build --product concord
	@exec .build/debug/concord dev $(ARGS)

test: ## Check formatting and run every test against a real PostgreSQL
	@scripts/test

test-fast: ## Run the tests that need no database
	swift test --disable-xctest --filter '^(AccountLinking|JSON|IdentityProviders|Repository)Tests\.'

fuzz: build ## Send broken requests to every route of two servers (ARGS='--seconds 600 --seed 7')
	@CONCORD=.build/release/concord scripts/fuzz $(ARGS)

format: ## Format the sources in place
	swift format --in-place --recursive --parallel Sources Tests Benchmarks clients examples Package.swift

lint: ## Check formatting, language and architecture
	scripts/lint-prose
	swift format lint --strict --recursive --parallel Sources Tests Benchmarks clients examples Package.swift
	swift test --disable-xctest --filter '^RepositoryTests\.'

golden: ## Regenerate the golden files; review them as a diff
	UPDATE_GOLDEN=1 scripts/test

demo: build ## Play a provider conflict from end to end over HTTP
	@scripts/build $(RELEASE) --product concord-demo
	@scripts/demo

bench: build ## Compare with pgbench and print a table (ARGS='--rounds 1 --check')
	@scripts/build $(RELEASE) --product concord-demo
	@scripts/build $(RELEASE) --product concord-bench
	@scripts/bench $(ARGS)

drill: build ## Play outages under load, then look for every acknowledged write (ARGS='--only kills')
	@scripts/prepare --drill
	@CONCORD=.build/release/concord scripts/drill $(ARGS)

migrate: build ## Apply pending migrations to CONCORD_DATABASE_URL
	@.build/release/concord migrate up

dist: ## Build what a release publishes: a tarball and a Debian package, in .build/dist
	@scripts/dist

package-test: ## Install the Debian package into a minimal Debian, and follow the README's production steps there
	@scripts/package-test

clean: ## Delete the build; the data in .concord stays
	rm -rf .build Sources/concord/Configuration/BuildInfo.swift
