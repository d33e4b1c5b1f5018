// cross.cu - the crossing of latents between blocks, and its backward. Formulas: kernels/ops_cross.go.
#include "each.cuh"
#include "silu.cuh"

template <class T, int V> struct cross {
  bt_rows<T> u, prev, gate, h;
  bool silu;
  explicit cross(const bt_op *o)
      : u(bt_mat_of<T>(o, 0)), prev(bt_mat_of<T>(o, 1)), gate(bt_mat_of<T>(o, 2)), h(bt_mat_of<T>(o, 3)), silu(o->i[0]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float a[V], b[V], g[V];
    bt_load<V>(a, u.row(r) + c);
    bt_load<V>(b, prev.row(r) + c);
    if (gate) bt_load<V>(g, gate.p + c);
    BT_UNROLL for (int k = 0; k < V; k++) {
      if (silu) a[k] = bt_silu(a[k]), b[k] = bt_silu(b[k]);
      a[k] += gate ? g[k] * b[k] : b[k];
    }
    bt_store<V>(h.row(r) + c, a);
  }
};
extern "C" bt_status btk_cross(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "cross", o, 0, 15, 0)) return e;
  BT_TYPED(o->t[0], T, return bt_check(c, "cross", bt_each_of<cross, T>(s, o, 15, o->m[2].p == 0)));
}

template <class T, int V> struct cross_bwd {
  bt_rows<T> dh, carry, prev, gate;
  bool silu, fresh;
  explicit cross_bwd(const bt_op *o)
      : dh(bt_mat_of<T>(o, 0)), carry(bt_mat_of<T>(o, 1)), prev(bt_mat_of<T>(o, 2)), gate(bt_mat_of<T>(o, 3)), silu(o->i[0]),
        fresh(o->i[1]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c, float (&dgate)[V]) const {
    float d[V], b[V], p[V], g[V];
    bt_load<V>(d, dh.row(r) + c);
    if (!fresh) bt_load<V>(b, carry.row(r) + c);
    if (gate) {
      bt_load<V>(p, prev.row(r) + c);
      bt_load<V>(g, gate.p + c);
    }
    BT_UNROLL for (int k = 0; k < V; k++) {
      float old = d[k];
      if (!fresh) d[k] += b[k];
      b[k] = gate ? g[k] * old : old;
      if (gate) dgate[k] += old * (silu ? bt_silu(p[k]) : p[k]);
    }
    if (!fresh) bt_store<V>(dh.row(r) + c, d);
    bt_store<V>(carry.row(r) + c, b);
  }
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float none[V];
    BT_UNROLL for (int k = 0; k < V; k++) none[k] = 0;
    (*this)(r, c, none);
  }
};
extern "C" bt_status btk_cross_bwd(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "cross_bwd", o, 0, 15, 16)) return e;
  if (!o->m[3].p) BT_TYPED(o->t[0], T, return bt_check(c, "cross_bwd", bt_each_of<cross_bwd, T>(s, o, 3, true)));
  BT_TYPED(o->t[0], T, return bt_columns_of<cross_bwd, T>(c, "cross_bwd", s, o, 15, bt_at<float>(o->m[4].p)));
}
