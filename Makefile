# make run    build and start: the UI in a terminal, else the demo
# make test   every test
# make bench  benchmarks, with the ratios that are held
# make e2e    runs across nodes, on real Slurm and ssh nodes in namespaces (root, Debian 12; skipped elsewhere): scripts/e2e.sh
# make soak   what takes luck or time to fail: runs killed at SOAK random moments (default 50); all variants on all meshes; all
#             reference cases on the emulated device, in fp32 and bf16;
#             200 random faults on the development cluster, begun within 50 minutes
# make cuda   build/libboost_cuda.so, the cuda device: scripts/cuda.sh installs nvcc where there is none (PyPI, build/cuda)
# make cuda-check  what can be known of the CUDA sources without a GPU: compilers, budgets of registers, real headers
# make emulator  the CUDA kernels in every mode of the emulator, and faults planted in them
# make gpu-bundle  build/gpu-bundle: what a machine with a GPU needs to prove all that, by ./gpu.sh there (scripts/gpu.sh)
# make fuzz   each fuzz target for FUZZTIME (default 5s)
# make lint   gofmt, go vet, staticcheck
#
# run and test install what is missing and useful first (scripts/setup.sh); NO_INSTALL=1 installs nothing.

GO ?= go
BIN := build/boost-tui
FUZZTIME ?= 5s
SOAK ?= 50
TESTFLAGS ?=
STATICCHECK_VERSION := v0.8.2

# go-nvml wraps functions that NVIDIA's header marks as deprecated; its warnings are not about this program.
export CGO_ENABLED := 1
export CGO_CFLAGS := -g -O2 -Wno-deprecated-declarations

.PHONY: run build setup test cuda cuda-check emulator gpu-bundle e2e bench soak fuzz lint clean

run: build
	@if [ -t 0 ] && [ -t 1 ]; then exec $(BIN); else exec $(BIN) demo; fi

build: setup
	@mkdir -p build
	@$(GO) build -o $(BIN) ./cmd/boost-tui

setup:
	@scripts/setup.sh

test: setup
	@$(GO) test $(TESTFLAGS) ./...

cuda:
	@scripts/cuda.sh

cuda-check:
	@scripts/cuda-check.sh

emulator:
	@scripts/emu-matrix.sh all

gpu-bundle:
	@scripts/gpu.sh bundle

e2e:
	@scripts/e2e.sh

bench: build
	@scripts/bench.sh

soak:
	@BOOST_TEST_KILLS=$(SOAK) $(GO) test -v -count=1 -timeout 1h -run KilledAtAnyMoment ./trainer
	@BOOST_TEST_SOAK=1 $(GO) test -v -count=1 -timeout 1h -run 'MeshesAgree|ParallelCases|CasesEmulated' ./trainer ./trainer/golden
	@BOOST_TEST_SOAK=1 E2E_TIMEOUT=80m scripts/e2e.sh RandomFaults

fuzz:
	@scripts/fuzz.sh $(FUZZTIME)

lint:
	@STATICCHECK_VERSION=$(STATICCHECK_VERSION) scripts/lint.sh

clean:
	rm -rf build
