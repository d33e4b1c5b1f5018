"""How fast PyTorch's causal attention is at the shapes of boost-tui's part "attention": JSON on stdout, for scripts/gpu.sh.

FLOPs as there: forward 2·s·d per token, both products of causal attention; backward twice that. It exits with 77 and says why where
this Python has no PyTorch, or one that sees no GPU.
"""

import json
import statistics
import sys


def cannot(why):
    print(f"{sys.executable} {why}; PYTHON=FOLDER/bin/python names another Python", file=sys.stderr)
    sys.exit(77)


try:
    import torch
    from torch.nn.functional import scaled_dot_product_attention
except ImportError as e:
    cannot(f"has no PyTorch ({e})")
if not torch.cuda.is_available():
    cannot(f"has PyTorch {torch.__version__}, which sees no GPU")


def seconds(work):
    """The median of five rounds of at least 20 ms, by events, after warming up."""
    for _ in range(3):
        work()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def round_of(n):
        start.record()
        for _ in range(n):
            work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / n

    n = max(1, min(2000, int(0.02 / max(round_of(1), 1e-6)) + 1))
    return statistics.median(round_of(n) for _ in range(5))


rows = []
for heads, head in ((32, 64), (32, 128), (8, 96)):
    seq = 4096
    q, k, v = (torch.randn(1, heads, seq, head, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    forward = seconds(lambda: scaled_dot_product_attention(q, k, v, is_causal=True))
    out = scaled_dot_product_attention(q, k, v, is_causal=True)
    grad = torch.randn_like(out)
    backward = seconds(lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True))
    flops = 2 * seq * seq * heads * head
    rows.append({"seq": seq, "heads": heads, "head_dim": head, "forward_s": forward, "backward_s": backward,
                 "forward_tflops": flops / forward / 1e12, "backward_tflops": 2 * flops / backward / 1e12})
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda or "", "card": torch.cuda.get_device_name(), "rows": rows}))
