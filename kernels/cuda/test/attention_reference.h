// attention_reference.h - causal attention and its gradient in double, each element with a bound of what a right kernel may be off.
//
// Where the bounds come from. r is the unit roundoff of fp32 (2^-24), u that of the stored type (2^-8 for bf16, 0 for fp32, whose
// stores round nothing more). A sum of n products of fp32 is off by at most lambda*sqrt(n)*r times the sum of their magnitudes, with
// lambda = 4, except with a probability of 2*exp(-lambda^2/2) per sum if roundings are independent (Higham and Mary 2019); the
// worst case, n*r, would be so wide for long sums that it would hide mistakes. On top of it
//   a probability p = exp(s - l) is off by p*eps: the score's error, and 4r for each unit of s and l that the exponent is rounded at,
//   and 16r for the exponential and, forward, for each of the ceil(T/32) times that what was summed before is rescaled;
//   bf16 rounds p before the products with V and dO (u*p), dS before those with K and Q (u*|dS|), and every result once (u*|x|).
// So for O: |error| <= sum_j p_j (2 eps_j + u) |V_j| + lambda sqrt(T) r sum_j p_j |V_j| + u |O|, where 2 eps_j is the numerator's and
// the denominator's, and alike for the gradients. Nothing is tuned: a test prints the largest error as a part of its bound.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

struct attention_case {
  int sequences, seq, heads, dim;
  double scale;
  int rows() const { return sequences * seq; }
  int cols() const { return heads * dim; }
};

struct bounded {
  std::vector<double> value, bound;
  explicit bounded(size_t n) : value(n), bound(n) {}
};

struct attention_reference {
  static constexpr double R = 1.0 / (1 << 24), LAMBDA = 4;
  attention_case c;
  double u;
  std::vector<double> q, k, v; // contiguous, rows x cols
  attention_reference(const attention_case &c, double u) : c(c), u(u) {}

  size_t at(int row, int head) const { return (size_t)row * c.cols() + (size_t)head * c.dim; }
  static double dot(const double *a, const double *b, int n, double *magnitude) {
    double s = 0;
    *magnitude = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i], *magnitude += std::fabs(a[i] * b[i]);
    return s;
  }
  double sum_error(int n, double magnitude) const { return LAMBDA * std::sqrt((double)n) * R * magnitude; }
  double score(int i, int j, int head, double *error) const {
    double m, s = dot(&q[at(i, head)], &k[at(j, head)], c.dim, &m) * c.scale;
    *error = sum_error(c.dim, m * c.scale);
    return s;
  }

  void forward(bounded &o, bounded &lse) const {
    std::vector<double> p(c.seq), eps(c.seq);
    for (int i = 0; i < c.rows(); i++)
      for (int h = 0; h < c.heads; h++) {
        int first = i - i % c.seq, n = i - first + 1;
        double top = -INFINITY, sum = 0, worst = 0;
        for (int j = 0; j < n; j++) p[j] = score(i, first + j, h, &eps[j]), top = std::fmax(top, p[j]);
        for (int j = 0; j < n; j++) {
          eps[j] += R * (4 * (std::fabs(p[j]) + std::fabs(top)) + 16 + 16 * (c.seq / 32 + 1));
          worst = std::fmax(worst, eps[j]);
          p[j] = std::exp(p[j] - top);
          sum += p[j];
        }
        size_t l = (size_t)i * c.heads + h;
        lse.value[l] = top + std::log(sum);
        lse.bound[l] = worst + LAMBDA * std::sqrt((double)n) * R + 4 * R * (std::fabs(lse.value[l]) + std::fabs(top) + 1);
        for (int x = 0; x < c.dim; x++) {
          double value = 0, error = 0, magnitude = 0;
          for (int j = 0; j < n; j++) {
            double term = p[j] / sum * v[at(first + j, h) + x];
            value += term;
            magnitude += std::fabs(term);
            error += std::fabs(term) * (eps[j] + worst + u);
          }
          o.value[at(i, h) + x] = value;
          o.bound[at(i, h) + x] = error + sum_error(n, magnitude) + (u + 4 * R) * std::fabs(value) + 1e-30;
        }
      }
  }

  // o, lse and d_o are what the kernel is given; sums are the row sums that it leaves in Work.
  void backward(const std::vector<double> &o, const std::vector<double> &lse, const std::vector<double> &d_o, bounded &dq, bounded &dk,
                bounded &dv, bounded &sums) const {
    std::vector<double> qm(q.size()), km(q.size()), vm(q.size()); // magnitudes of the terms
    for (int i = 0; i < c.rows(); i++)
      for (int h = 0; h < c.heads; h++) {
        size_t l = (size_t)i * c.heads + h;
        double m, delta = dot(&d_o[at(i, h)], &o[at(i, h)], c.dim, &m), delta_error = sum_error(c.dim, m);
        sums.value[l] = delta;
        sums.bound[l] = delta_error + 1e-30;
        for (int j = i - i % c.seq; j <= i; j++) {
          double eps, s = score(i, j, h, &eps), p = std::exp(s - lse[l]);
          eps += R * (4 * (std::fabs(s) + std::fabs(lse[l])) + 16);
          double dp = dot(&d_o[at(i, h)], &v[at(j, h)], c.dim, &m), ds = p * (dp - delta);
          double error = std::fabs(ds) * (eps + u + 2 * R) + p * (sum_error(c.dim, m) + delta_error + R * (std::fabs(dp) + std::fabs(delta)));
          for (int x = 0; x < c.dim; x++) {
            size_t a = at(i, h) + x, b = at(j, h) + x;
            dq.value[a] += c.scale * ds * k[b];
            dq.bound[a] += c.scale * error * std::fabs(k[b]);
            qm[a] += std::fabs(c.scale * ds * k[b]);
            dk.value[b] += c.scale * ds * q[a];
            dk.bound[b] += c.scale * error * std::fabs(q[a]);
            km[b] += std::fabs(c.scale * ds * q[a]);
            dv.value[b] += p * d_o[a];
            dv.bound[b] += p * (eps + u) * std::fabs(d_o[a]);
            vm[b] += std::fabs(p * d_o[a]);
          }
        }
      }
    for (size_t i = 0; i < q.size(); i++) {
      dq.bound[i] += sum_error(c.seq, qm[i]) + (u + 4 * R) * std::fabs(dq.value[i]) + 1e-30;
      dk.bound[i] += sum_error(c.seq, km[i]) + (u + 4 * R) * std::fabs(dk.value[i]) + 1e-30;
      dv.bound[i] += sum_error(c.seq, vm[i]) + (u + 4 * R) * std::fabs(dv.value[i]) + 1e-30;
    }
  }
};
