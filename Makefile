# The targets to know: make demo, make test, make check, make bench, make lint; make dist, make docs.
# Each sets up what it needs on a fresh Debian or Ubuntu; a Rust toolchain is all it expects.

.PHONY: demo check test test-guest bench lint fuzz experiments

demo:
	@scripts/demo.sh

# The inner loop: format, clippy, and the tests that need neither root nor network nor guest.
check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --workspace --test guest -- -D warnings
	cargo test --workspace --lib --quiet
	cargo test --workspace --test rooms --test words --quiet

# Started in the background, a shell's children ignore Ctrl-C; tests that send it want it heard.
test:
	@scripts/setup.sh test
	@env --default-signal=INT,QUIT scripts/test.sh

# Every real application once, some ten minutes, and a table.
.PHONY: workloads
workloads:
	@scripts/setup.sh workloads
	cargo build --quiet --release --package anabranch
	@scripts/workloads.sh

# Every real application twice in a row and cut short in every way, some half an hour.
.PHONY: workloads-test
workloads-test:
	@scripts/setup.sh workloads
	ANABRANCH_SCENARIOS=all cargo test --package anabranch --test live applications -- --nocapture --test-threads 1

# A drive in the hands of a Linux guest, the long form; `make test` runs the short one. What steers is tried with the
# kernels of other suites of Debian, too.
test-guest:
	@scripts/setup.sh test
	@scripts/setup.sh workloads
	status=0; \
	ANABRANCH_GUEST=long cargo test --package anabranch --test guest -- --nocapture --include-ignored || status=$$?; \
	for suite in trixie sid; do \
	    export GUEST_KERNEL=$$suite; \
	    scripts/guest.sh build && \
	    cargo test --package anabranch --test guest -- --nocapture captured doctor steer && \
	    cargo test --package anabranch --test guest -- --nocapture --ignored qemu:: || status=$$?; \
	done; \
	exit $$status

# Everything there is to hand out, in out/dist.
.PHONY: dist dist-test publish-test docs
dist:
	@scripts/setup.sh dist
	@packaging/dist.sh

# What was made is installed and used in a bare Debian; as root.
dist-test:
	@scripts/setup.sh dist
	@packaging/dist-test.sh

# Built for aarch64; the core's tests run there under qemu-user.
.PHONY: aarch64-test
aarch64-test:
	@scripts/setup.sh aarch64
	@scripts/aarch64.sh

# The commands of the documents that take minutes; `make test` runs the short ones.
.PHONY: docs-test
docs-test:
	@scripts/setup.sh test
	ANABRANCH_DOCS=slow scripts/python-tests.sh python/tests/test_commands.py

# What crates.io is to have is complete, and builds as it is packed, without the rest of the tree; nothing is sent.
publish-test:
	cargo publish --dry-run --workspace

# The documents as a site, out/docs/index.html; builds mdBook where it is not there.
docs:
	command -v mdbook >/dev/null || cargo install --locked mdbook --no-default-features --features search
	mdbook build

bench:
	@scripts/setup.sh bench
	cargo bench --workspace
	cargo build --quiet --release --package anabranch
	python3 lab/bench/probe-cost.py --pairs 15

lint:
	@scripts/setup.sh demo
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --workspace --test guest -- -D warnings
	cargo clippy --workspace --no-default-features --all-targets -- -D warnings
	cargo clippy --workspace --no-default-features --test guest -- -D warnings
	cargo clippy --package anabranch --no-default-features --features serve --all-targets -- -D warnings
	@scripts/deny.sh

# What reads bytes off the network and traces of other people, a minute each; needs a nightly compiler.
fuzz:
	@scripts/setup.sh demo
	@scripts/fuzz.sh

# Everything that runs for long, for MINUTES: hosts that come, go and lie, processes killed, seeds of the simulation.
MINUTES = 120
.PHONY: soak
soak:
	@scripts/setup.sh test
	scripts/soak.sh $(MINUTES)

# Changes to the code that no test notices, where figures are made: days. What was missed is listed in
# target/mutants/*/mutants.out/missed.txt. `ARGUMENTS='--shard 0/8 --sharding round-robin'` does every eighth.
# One crate's missed mutants do not keep the next crate from its turn; a test asks git for the tree's files.
MUTANTS = cargo mutants --copy-vcs true --timeout-multiplier 3 $(ARGUMENTS)
SEED = 1
.PHONY: mutants
ifdef SAMPLE
# Of a crate all, or so many as a seed draws, in one build and against the crate's own tests:
# `make mutants SAMPLE='nvme ssd=130 replay=130 placement=130' SEED=1`.
mutants:
	cargo mutants --version 2>/dev/null | grep -q ' 27\.' || cargo install --locked --version 27.1.0 cargo-mutants
	python3 scripts/mutants.py $(SAMPLE) --seed $(SEED)
else
mutants:
	@scripts/setup.sh demo
	cargo mutants --version 2>/dev/null | grep -q ' 27\.' || cargo install --locked --version 27.1.0 cargo-mutants
	mkdir -p target/mutants
	status=0; \
	$(MUTANTS) --output target/mutants/ssd --package anabranch-ssd || status=$$?; \
	$(MUTANTS) --output target/mutants/replay --package anabranch-replay || status=$$?; \
	$(MUTANTS) --output target/mutants/lifetime --package anabranch-lifetime || status=$$?; \
	$(MUTANTS) --output target/mutants/nvme --package anabranch-nvme \
		--file 'crates/host/nvme/src/pdu/*.rs' --file crates/host/nvme/src/pdu.rs \
		--file crates/host/nvme/src/command.rs --file crates/host/nvme/src/completion.rs || status=$$?; \
	$(MUTANTS) --output target/mutants/placement --package anabranch-placement \
		--file crates/core/placement/src/schemes/pcstream.rs --file 'crates/core/placement/src/schemes/pcstream/*.rs' \
		--file crates/core/placement/src/schemes/anabranch.rs --file 'crates/core/placement/src/schemes/anabranch/*.rs' \
		|| status=$$?; \
	exit $$status
endif

# Every published figure beside ours: out/experiments/NAME.json, standard output, and the tables of the results.
experiments:
	@scripts/setup.sh demo
	cargo run --release --package anabranch -- experiment all --document docs/results.md docs/results/*.md
